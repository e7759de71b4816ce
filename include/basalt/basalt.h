// Basalt as a library: tables, files, and filters and aggregates over them. SQL is in basalt/sql/session.h.
#pragma once

#include "basalt/core/column.h"
#include "basalt/core/error.h"
#include "basalt/exec/expressions.h"
#include "basalt/exec/pipeline.h"
#include "basalt/exec/scan.h"
#include "basalt/file/reader.h"
#include "basalt/file/verify.h"
#include "basalt/file/writer.h"
