// Golden files: format version 1 as it was released. Writing the same tables again gives the same bytes, and the files
// read back as the same tables. tests/python_reader compares the same files with the JSON beside them.
// BASALT_WRITE_GOLDEN=1 writes files and JSON anew, for a new case; files of a released version are never changed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "basalt/core/value.h"
#include "basalt/file/verify.h"
#include "file/test_files.h"

namespace basalt::test {
namespace {

struct Golden {
  std::string name;
  Table table;
  std::map<std::string, std::string> encodings;
  uint64_t chunk_bytes = 64 << 20;
  std::string sorted_by = {};  // a column whose values never fall; empty: none is told
  bool wrapped = false;
};

const IsNull kSome = [](uint64_t i) { return scramble(i) % 6 == 1; };

int64_t narrow(uint64_t i) { return static_cast<int64_t>(scramble(i) % 9) - 4; }
int64_t runs(uint64_t i) { return static_cast<int64_t>(i / 37 % 5) - 2; }
std::string word(uint64_t i) { return "word " + std::to_string(scramble(i) % 12); }

// Every tree that the plain codecs make, over one type that suits it; more than one tile.
Golden codecs() {
  const uint64_t rows = 1100;
  std::vector<NamedColumn> columns;
  Golden out{"codecs", {}, {}, 64 << 20, "constant i64"};
  const auto add = [&](NamedColumn column, const std::string& tree) {
    out.encodings[column.field.name] = tree;
    columns.push_back(std::move(column));
  };
  const auto wide = [](uint64_t i) { return static_cast<int64_t>(i * i) * 1000; };
  add(integers("constant i64", type_of(TypeKind::kInt64), rows, [](uint64_t) { return -9; }), "constant");
  add(integers("constant decimal(38,0)", type_of(TypeKind::kDecimal, 38, 0), rows, [](uint64_t) { return -9; }),
      "constant");
  add(reals("constant f32", TypeKind::kFloat32, rows, [](uint64_t) { return 0.25; }), "constant");
  add(integers("plain u16", type_of(TypeKind::kUInt16), rows, narrow), "plain");
  add(integers("packed i8", type_of(TypeKind::kInt8), rows, narrow, kSome), "packed");
  add(integers("packed u16", type_of(TypeKind::kUInt16), rows,
               [](uint64_t i) { return static_cast<int64_t>(60000 + i % 7); }),
      "packed");
  add(integers("packed i32", type_of(TypeKind::kInt32), rows, narrow), "packed");
  add(integers("packed i64", type_of(TypeKind::kInt64), rows,
               [](uint64_t i) { return i == 700 ? int64_t{1} << 40 : static_cast<int64_t>(i % 3); }),
      "packed");
  add(integers("packed i128", type_of(TypeKind::kInt128), rows, narrow), "packed");
  add(integers("delta i64", type_of(TypeKind::kInt64), rows, wide), "delta(packed)");
  add(integers(
          "delta u32", type_of(TypeKind::kUInt32), rows,
          [](uint64_t i) { return static_cast<int64_t>(4294967290u + i); }, kSome),
      "delta(rle)");
  add(integers("rle date", type_of(TypeKind::kDate), rows, runs, kSome), "rle(packed, packed)");
  add(integers("rle i128", type_of(TypeKind::kInt128), rows, runs), "rle(plain, delta)");
  add(reals("rle f64", TypeKind::kFloat64, rows, [](uint64_t i) { return static_cast<double>(runs(i)) / 8; }),
      "rle(plain, packed)");
  add(integers("dict i32", type_of(TypeKind::kInt32), rows, [](uint64_t i) { return narrow(i) * 1000003; }),
      "dict(packed, packed)");
  add(reals(
          "dict f64", TypeKind::kFloat64, rows,
          [](uint64_t i) { return i % 7 == 0   ? -0.0
                                  : i % 7 == 1 ? 0.0
                                               : static_cast<double>(narrow(i)) * 0.1; },
          kSome),
      "dict(packed, plain)");
  add(strings("dict utf8", TypeKind::kUtf8, rows, word, kSome), "dict(rle, strings(packed, plain))");
  add(strings("strings", TypeKind::kUtf8, rows,
              [](uint64_t i) { return i % 3 == 0   ? ""
                                      : i % 5 == 0 ? "größe 漢"
                                                   : "x"; }),
      "strings(packed, plain)");
  add(strings("strings constant", TypeKind::kBinary, rows, [](uint64_t) { return std::string("\0\xFF same", 7); }),
      "strings(constant, constant)");
  out.table = make_table(rows, std::move(columns));
  return out;
}

// Every model of `l3`, narrow and wide, whole tiles and quartered ones.
Golden learned() {
  const uint64_t rows = 3000;
  std::vector<NamedColumn> columns;
  Golden out{"learned", {}, {}, 64 << 20, "constants"};
  const auto add = [&](const std::string& name, TypeKind kind, const std::function<int64_t(uint64_t)>& value,
                       const IsNull& is_null = {}) {
    out.encodings[name] = is_null ? "validity(packed, l3)" : "l3";
    columns.push_back(integers(name, type_of(kind), rows, value, is_null));
  };
  const auto noise = [](uint64_t i, uint64_t range) { return static_cast<int64_t>(scramble(i) % range); };
  const auto s = [](uint64_t i) { return static_cast<int64_t>(i); };
  add("constants", TypeKind::kInt16, [&](uint64_t i) { return s(i / 768) - 1; });
  add("reference", TypeKind::kUInt64, [&](uint64_t i) { return i < 1024 ? 77 : noise(i, 1000) - 500; });
  add("line", TypeKind::kInt32, [&](uint64_t i) { return 7 - s(i) * 2001 / 97; });
  add(
      "noisy line", TypeKind::kInt64, [&](uint64_t i) { return s(i) * 1234567 + noise(i, 5000); }, kSome);
  add("curve", TypeKind::kUInt32, [&](uint64_t i) { return s(i % 2048) * s(i % 2048) * 3 / 7 + noise(i, 3); });
  add("cubic", TypeKind::kInt64, [&](uint64_t i) { return (s(i) - 900) * (s(i) - 1500) * s(i) / 11 + noise(i, 9); });
  add("wide line", TypeKind::kInt64, [&](uint64_t i) { return s(i) * 9876543210987 / 13; });
  add("wide curve", TypeKind::kUInt64, [&](uint64_t i) { return s(i) * s(i) * 12345678901 + noise(i, 100); });
  add("wide cubic", TypeKind::kInt64, [&](uint64_t i) { return s(i) * s(i) * (s(i) - 2000) * 1234567; });
  add("runs", TypeKind::kInt64, [&](uint64_t i) { return s(i / 41) * 1000003 + noise(i / 41, 50); });
  add("mixed", TypeKind::kInt32, [&](uint64_t i) {
    return i < 700 ? s(i / 50) : i < 1300 ? noise(i, 1 << 30) : i < 2100 ? s(i) * 50 : -5;
  });
  out.table = make_table(rows, std::move(columns));
  return out;
}

// Every scheme of `galp`, exceptions listed and masked, packed and whole, in both types.
Golden floats() {
  const uint64_t rows = 1300;
  std::vector<NamedColumn> columns;
  Golden out{"floats", {}, {}};
  const auto add = [&](const std::string& name, TypeKind kind, const std::string& tree,
                       const std::function<double(uint64_t)>& value, const IsNull& is_null = {}) {
    out.encodings[name] = is_null ? "validity(packed, " + tree + ")" : tree;
    columns.push_back(reals(name, kind, rows, value, is_null));
  };
  const auto digits = [](uint64_t i, uint64_t range) { return static_cast<double>(scramble(i) % range); };
  const auto fraction = [](uint64_t i) { return static_cast<double>(scramble(i) >> 11) / 9007199254740992.0; };
  const double inf = std::numeric_limits<double>::infinity();
  for (const TypeKind kind : {TypeKind::kFloat32, TypeKind::kFloat64}) {
    const int range = kind == TypeKind::kFloat32 ? 250 : 2000;
    const std::string of = kind == TypeKind::kFloat32 ? " f32" : " f64";
    add("cents" + of, kind, "galp(packed)", [=](uint64_t i) { return digits(i, 100000) / 100 - 300; });
    add(
        "digits" + of, kind, "galp(packed)",
        [=](uint64_t i) { return i < 1024 ? digits(i, 100) / 10 : digits(i, 1000) / 1000; }, kSome);
    add("few exceptions" + of, kind, "galp(packed)", [=](uint64_t i) {
      return i % 177 == 5 ? fraction(i) : i % 205 == 7 ? -0.0 : digits(i, 1000) / 100;
    });
    add("many exceptions" + of, kind, "galp(packed)",
        [=](uint64_t i) { return i % 5 == 1 ? fraction(i) : digits(i, 1000) / 100; });
    add("alike exceptions" + of, kind, "galp(delta(packed))",
        [=](uint64_t i) { return i % 40 == 1 ? inf : static_cast<double>(i / 3) / 4; });
    add("parts" + of, kind, "galp(packed)", [=](uint64_t i) { return fraction(i) * (i % 2 == 0 ? 3 : -1); });
    add("bits" + of, kind, "galp(plain)", [=](uint64_t i) {
      return std::ldexp(fraction(i) - 0.5,
                        static_cast<int>(scramble(i + 1) % static_cast<uint64_t>(range)) - range / 2);
    });
    add("large" + of, kind, "galp(l3)", [=](uint64_t i) { return static_cast<double>(i) * 1048576; });
    add("runs" + of, kind, "galp(rle(packed, packed))", [=](uint64_t i) { return digits(i / 50, 100) / 2; });
  }
  out.table = make_table(rows, std::move(columns));
  return out;
}

// `fsst`: with escapes and without, with pieces of long rows, below a dictionary too.
Golden compressed() {
  const uint64_t rows = 1200;
  std::vector<NamedColumn> columns;
  Golden out{"compressed", {}, {}};
  const auto add = [&](const std::string& name, TypeKind kind, const std::string& tree,
                       const std::function<std::string(uint64_t)>& value, const IsNull& is_null = {}) {
    out.encodings[name] = is_null ? "validity(packed, " + tree + ")" : tree;
    columns.push_back(strings(name, kind, rows, value, is_null));
  };
  const auto sentence = [](uint64_t i, uint64_t words) {
    const char* const kWords[] = {"carefully ", "final ", "deposits", " sleep", "quickly", "größe ", "漢字", ", "};
    std::string text;
    for (uint64_t w = 0; w < words; ++w) text += kWords[scramble(i * 100 + w) % std::size(kWords)];
    return text;
  };
  const auto noise = [](uint64_t i, uint64_t length) {
    std::string text;
    for (uint64_t k = 0; k < length; ++k) text += static_cast<char>(scramble(i * 10000 + k));
    return text;
  };
  add("sentences", TypeKind::kUtf8, "strings(packed, fsst(packed))", [=](uint64_t i) { return sentence(i, i % 9); });
  add(
      "with NULLs", TypeKind::kUtf8, "strings(rle(packed, packed), fsst(delta(packed)))",
      [=](uint64_t i) { return sentence(i, 3); }, kSome);
  add("noise", TypeKind::kBinary, "strings(packed, fsst(packed))", [=](uint64_t i) { return noise(i, i % 7); });
  add("escapes", TypeKind::kBinary, "strings(packed, fsst(packed))",
      [=](uint64_t i) { return sentence(i, 4) + (i % 300 == 7 ? std::string("\xFF\xFE\0", 3) + noise(i, 2) : ""); });
  add("long", TypeKind::kBinary, "strings(packed, fsst(plain))",
      [=](uint64_t i) { return i % 400 == 3 ? sentence(i, 700 * (i / 400 + 1)) + noise(i, 5) : sentence(i, 1); });
  add("entries", TypeKind::kUtf8, "dict(packed, strings(packed, fsst(packed)))",
      [=](uint64_t i) { return sentence(i % 40, 5); });
  out.table = make_table(rows, std::move(columns));
  return out;
}

// Every type, few rows, with NULLs.
Golden types() {
  Golden out{"types", everything(20), {}};
  const std::function<void(const Field&, const std::string&)> force = [&](const Field& field, const std::string& path) {
    const Physical type = physical_of(field.type);
    out.encodings[path] = type == Physical::kNone    ? "validity(rle)"
                          : type == Physical::kBytes ? "validity(plain, strings(plain, plain))"
                                                     : "validity(plain, plain)";
    for (const Field& child : field.children) force(child, path + "." + child.name);
  };
  for (const Field& field : out.table.schema.fields) force(field, field.name);
  return out;
}

// Texts as tokens, words and phrases and what has to be spelled, and as a number behind a text.
Golden texts() {
  const uint64_t rows = 2100;
  Golden out{"texts", {}, {}};
  static const char* kWords[] = {"quick", "brown", "foxes", "jump", "über", "lazy", "dogs", "漢字"};
  const auto sentence = [](uint64_t i) {
    std::string text;
    for (uint64_t word = 0; word < scramble(i) % 6; ++word) text += std::string(kWords[scramble(i + word) % 8]) + " ";
    return i % 97 == 0 ? text + "No. " + std::to_string(scramble(i)) : text;
  };
  const auto binary = [](uint64_t i) {
    return std::string(i % 3, '\0') + (i % 2 == 0 ? "\xFF\xFE GET /" : "PUT /") + std::to_string(i % 10);
  };
  const auto numbered = [](uint64_t i) {
    const std::string digits = std::to_string(scramble(i) % 100000);
    return "Clerk#" + std::string(9 - digits.size(), '0') + digits;
  };
  out.table = make_table(rows, {strings("sentences", TypeKind::kUtf8, rows, sentence),
                                strings("sentences with NULLs", TypeKind::kUtf8, rows, sentence, kSome),
                                strings("requests", TypeKind::kBinary, rows, binary),
                                strings("clerks", TypeKind::kUtf8, rows, numbered, kSome)});
  out.encodings = {
      {"sentences", "strings(packed, tokens(packed, packed, strings(packed, plain)))"},
      {"sentences with NULLs", "validity(packed, strings(packed, tokens(plain, rle, strings(plain, plain))))"},
      {"requests", "strings(packed, tokens(packed, packed, strings(packed, plain)))"},
      {"clerks", "validity(packed, numbered(packed))"}};
  return out;
}

// `ans`: tables of both kinds, a second unit that is not full, states that are all tail, types with a sign and without.
Golden entropy() {
  const uint64_t rows = 8300;
  Golden out{"entropy", {}, {}};
  const auto skewed = [](uint64_t i, uint64_t symbols) {
    return static_cast<int64_t>(symbols * (scramble(i) % 256) / 256 * (scramble(i + rows) % 256) / 256);
  };
  out.table = make_table(
      rows,
      {integers("flag", type_of(TypeKind::kBool), rows, [](uint64_t i) { return scramble(i) % 50 == 0 ? 1 : 0; }),
       integers(
           "some", type_of(TypeKind::kInt16), rows, [=](uint64_t i) { return skewed(i, 9) - 4; }, kSome),
       integers("many", type_of(TypeKind::kUInt32), rows, [=](uint64_t i) { return 4294967295 - skewed(i, 700); }),
       integers("one", type_of(TypeKind::kInt64), rows, [](uint64_t) { return INT64_MIN; }),
       strings("word", TypeKind::kUtf8, rows, [=](uint64_t i) { return "word " + std::to_string(skewed(i, 12)); })});
  out.encodings = {{"flag", "ans"},
                   {"some", "validity(ans, ans)"},
                   {"many", "ans"},
                   {"one", "ans"},
                   {"word", "dict(ans, strings(ans, plain))"}};
  return out;
}

// `stride` and `grouped`: steps up and down that wrap around, runs of bases, groups of several sizes, a last one that
// is not full, and NULLs.
Golden progressions() {
  const uint64_t rows = 2500;
  Golden out{"progressions", {}, {}};
  const auto key = [](uint64_t i) { return static_cast<int64_t>(i / 8 * 32 + i % 8 + 1); };
  out.table = make_table(
      rows,
      {integers("key", type_of(TypeKind::kInt64), rows, key),
       integers("falling", type_of(TypeKind::kInt8), rows, [](uint64_t i) { return 100 - (i * 3 + i / 100) % 200; }),
       integers(
           "gaps", type_of(TypeKind::kUInt32), rows, [=](uint64_t i) { return key(i) + i / 700 * 5; }, kSome),
       integers("repeating", type_of(TypeKind::kInt32), rows, [](uint64_t i) { return i / 4 % 5 * 1000 - i % 4 * 7; }),
       integers("few", type_of(TypeKind::kUInt16), rows,
                [](uint64_t i) { return scramble(i / 16 % 3 + i % 16) % 9; })});
  out.encodings = {{"key", "stride(rle(delta(packed), delta(packed)))"},
                   {"falling", "stride(packed)"},
                   {"gaps", "validity(packed, rle(stride(plain), stride(packed)))"},
                   {"repeating", "delta(dict(grouped(dict(packed, plain)), plain))"},
                   {"few", "grouped(plain)"}};
  return out;
}

// Columns by other columns: differences, functions, products, codes of strings; sources with NULLs and without.
Golden related() {
  const uint64_t rows = 2100;
  Golden out{"related", {}, {}};
  const auto shipped = [](uint64_t i) { return static_cast<int64_t>(9000 + scramble(i) % 700); };
  const auto part = [](uint64_t i) { return static_cast<int64_t>(scramble(i + 5000) % 90) - 20; };
  const auto quantity = [](uint64_t i) { return static_cast<int64_t>(scramble(i + 9000) % 50 + 1) * 100; };
  const auto price = [=](uint64_t i) { return 90000 + part(i) * 101; };
  const DataType money = type_of(TypeKind::kDecimal, 15, 2);
  const auto day = type_of(TypeKind::kDate);
  out.table = make_table(
      rows,
      {integers("received", day, rows,
                [=](uint64_t i) { return shipped(i) + 1 + static_cast<int64_t>(scramble(i + 70) % 30); }),
       integers("shipped", day, rows, shipped, kSome), integers("part", type_of(TypeKind::kInt16), rows, part),
       integers("quantity", money, rows, quantity),
       integers(
           "price", type_of(TypeKind::kInt32), rows, [=](uint64_t i) { return i == 77 ? -5 : price(i); }, kSome),
       integers("amount", money, rows, [=](uint64_t i) { return quantity(i) / 100 * price(i); }),
       integers("narrow", type_of(TypeKind::kUInt8), rows, [=](uint64_t i) { return (shipped(i) * 3 + 7) % 256; }),
       strings("state", TypeKind::kUtf8, rows, [=](uint64_t i) { return shipped(i) < 9400 ? "done" : "open"; })});
  out.encodings = {{"received", "sum(packed, @shipped)"},
                   {"shipped", "packed"},
                   {"part", "packed"},
                   {"quantity", "dict(packed, packed)"},
                   {"price", "sum(rle(packed, packed), map(@part, packed))"},
                   {"amount", "product(map(@part, packed), @quantity)"},
                   {"narrow", "sum(packed, product(packed, @shipped))"},
                   {"state", "dict(sum(packed, map(@shipped, packed)), strings(packed, plain))"}};
  return out;
}

// Sums of two columns and places in runs: a first run that began before the rows, runs over tiles, rows of neither.
Golden places() {
  const uint64_t rows = 2300;
  Golden out{"places", {}, {}};
  const auto order = [](uint64_t i) { return static_cast<int64_t>(i < 1500 ? (i + 2) / 7 * 3 : 5000); };
  const auto line = [](uint64_t i) { return static_cast<int64_t>(i < 1500 ? (i + 2) % 7 : i - 1500); };
  const auto net = [](uint64_t i) { return static_cast<int64_t>(scramble(i) % 90000) - 10000; };
  const auto tax = [](uint64_t i) { return static_cast<int64_t>(scramble(i + 3000) % 900); };
  const DataType money = type_of(TypeKind::kDecimal, 15, 2);
  out.table = make_table(
      rows,
      {integers("order", type_of(TypeKind::kInt64), rows, order),
       integers("line", type_of(TypeKind::kInt32), rows, line),
       integers("number", type_of(TypeKind::kUInt8), rows, [=](uint64_t i) { return (line(i) + 1) % 256; }),
       integers(
           "odd", type_of(TypeKind::kInt16), rows, [=](uint64_t i) { return i % 600 == 9 ? -3 : line(i) + 1; }, kSome),
       integers("net", money, rows, net), integers("tax", type_of(TypeKind::kInt16), rows, tax),
       integers("total", money, rows, [=](uint64_t i) { return net(i) + tax(i) + (i == 1234 ? 1 : 0); })});
  out.encodings = {{"order", "packed"},
                   {"line", "place(@order)"},
                   {"number", "place(@order)"},
                   {"odd", "sum(rle(packed, packed), place(@order))"},
                   {"net", "packed"},
                   {"tax", "packed"},
                   {"total", "sum(rle(packed, packed), sum(@tax, @net))"}};
  return out;
}

// Chunks of a few rows each: dictionaries over the whole file, code maps, chunks with and without NULLs.
Golden chunks() {
  const uint64_t rows = 120;
  const auto drifting = [](uint64_t i) { return "v" + std::to_string(i / 30 + scramble(i) % 4); };
  const IsNull late = [](uint64_t i) { return i > 80 && i % 3 == 0; };
  return {"chunks",
          make_table(
              rows,
              {strings("drifting", TypeKind::kUtf8, rows, drifting, late),
               integers("n", type_of(TypeKind::kInt64), rows, [](uint64_t i) { return static_cast<int64_t>(i); }),
               integers("few", type_of(TypeKind::kInt16), rows, narrow),
               struct_of("s", rows,
                         {reals("x", TypeKind::kFloat32, rows, [](uint64_t i) { return static_cast<double>(i % 3); })},
                         late)}),
          {{"drifting", "dict(packed, strings(packed, plain))"},
           {"n", "packed"},
           {"few", "dict(plain, plain)"},
           {"s", "validity(packed)"},
           {"s.x", "plain"}},
          395,
          "n"};
}

std::vector<Golden> golden_files() {
  std::vector<Golden> out;
  out.push_back(codecs());
  out.push_back(learned());
  out.push_back(floats());
  out.push_back(compressed());
  out.push_back(types());
  out.push_back(texts());
  out.push_back(chunks());
  out.push_back(entropy());
  out.push_back(progressions());
  out.push_back(related());
  out.push_back(places());
  out.push_back({"no_rows", everything(0), {}, 64 << 20, "bool"});
  out.push_back({"no_columns", make_table(3, {}), {}});
  out.push_back({"one_row",
                 make_table(1, {integers("only", type_of(TypeKind::kInt32), 1, [](uint64_t) { return 5; }),
                                strings("Ünï", TypeKind::kUtf8, 1, [](uint64_t) { return "line\n\"quoted\""; })}),
                 {{"only", "plain"}, {"Ünï", "strings(plain, plain)"}},
                 64 << 20,
                 "only"});
  out.push_back({"wrapped", everything(30), {}, 64 << 20, {}, true});
  return out;
}

void write_golden(const Golden& golden, const std::string& path) {
  WriteOptions options;
  options.created_by = "basalt golden";
  options.metadata["case"] = golden.name;
  options.chunk_bytes = golden.chunk_bytes;
  for (const auto& [column, tree] : golden.encodings) options.encodings[column] = parse_tree(tree);
  if (!golden.sorted_by.empty()) options.sort_columns = {golden.sorted_by};
  if (golden.wrapped)
    write_table(path, golden.table, options);
  else
    write(path, golden.table, options);
}

// --- JSON, for readers that are not ours
// ------------------------------------------------------------------------------

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const char* digits = "0123456789abcdef";
    out += digits[static_cast<uint8_t>(c) >> 4];
    out += digits[static_cast<uint8_t>(c) & 15];
  }
  return out;
}

// Integers as they are stored, floats by their bits, binary as hexadecimal digits.
std::string to_json(const Field& field, const Column& column, uint64_t row) {
  if (!column.is_valid(row)) return "null";
  switch (field.type.kind) {
    case TypeKind::kUtf8: return quote(column.string_at(row));
    case TypeKind::kBinary: return quote(hex(column.string_at(row)));
    case TypeKind::kBool: return column.values.as<uint8_t>()[row] != 0 ? "true" : "false";
    case TypeKind::kFloat32: return std::to_string(column.values.as<uint32_t>()[row]);
    case TypeKind::kFloat64: return std::to_string(column.values.as<uint64_t>()[row]);
    case TypeKind::kList: {
      std::string out = "[";
      const int64_t* at = column.offsets.as<int64_t>() + row;
      for (int64_t i = at[0]; i < at[1]; ++i) {
        out += (i > at[0] ? "," : "") + to_json(field.children[0], column.children[0], static_cast<uint64_t>(i));
      }
      return out + "]";
    }
    case TypeKind::kStruct: {
      std::string out = "{";
      for (size_t i = 0; i < field.children.size(); ++i) {
        out += (i > 0 ? "," : "") + quote(field.children[i].name) + ":" +
               to_json(field.children[i], column.children[i], row);
      }
      return out + "}";
    }
    default: {
      const Physical type = physical_of(field.type);
      const Value value = load_value(type, column.values.data() + row * width_of(type));
      return format_value(value, type_of(TypeKind::kInt128));
    }
  }
}

std::string to_json(const Table& table) {
  std::string out = "{\"rows\":" + std::to_string(table.rows) + ",\"columns\":{";
  for (size_t c = 0; c < table.columns.size(); ++c) {
    out += (c > 0 ? ",\n" : "\n") + quote(table.schema.fields[c].name) + ":[";
    for (uint64_t row = 0; row < table.rows; ++row) {
      out += (row > 0 ? "," : "") + to_json(table.schema.fields[c], table.columns[c], row);
    }
    out += "]";
  }
  return out + "}}\n";
}

std::string golden_path(const std::string& name) {
  const char* source = std::getenv("BASALT_SOURCE_DIR");
  return std::string(source != nullptr ? source : ".") + "/tests/golden/v1/" + name;
}

// Without the frame of small files, whose bytes are up to the version of zstd.
std::vector<std::byte> unwrapped_bytes(const std::string& path) {
  const auto file = File::open(path);
  std::vector<std::byte> bytes(static_cast<size_t>(file->source().size()));
  file->source().read({0, bytes.size()}, bytes.data());
  return bytes;
}

TEST(Golden, WritingAgainGivesTheSameBytes) {
  const bool write_anew = std::getenv("BASALT_WRITE_GOLDEN") != nullptr;
  for (const Golden& golden : golden_files()) {
    SCOPED_TRACE(golden.name);
    if (write_anew) {
      write_golden(golden, golden_path(golden.name + ".basalt"));
      std::ofstream(golden_path(golden.name + ".json")) << to_json(golden.table);
    }
    TemporaryFolder folder;
    write_golden(golden, folder.path("again.basalt"));
    EXPECT_TRUE(unwrapped_bytes(folder.path("again.basalt")) == unwrapped_bytes(golden_path(golden.name + ".basalt")));
  }
}

TEST(Golden, FilesReadBack) {
  for (const Golden& golden : golden_files()) {
    SCOPED_TRACE(golden.name);
    const auto file = File::open(golden_path(golden.name + ".basalt"));
    EXPECT_EQ(file->source().size() > file->bytes(), golden.wrapped);
    EXPECT_EQ(file->format_version(), 1u);
    EXPECT_EQ(file->created_by(), "basalt golden");
    ASSERT_EQ(file->metadata().size(), 1u);
    EXPECT_EQ(file->metadata()[0].second, golden.name);
    EXPECT_EQ(file->schema(), golden.table.schema);
    expect_equal(golden.table, read_table(*file));
    ThreadPool pool(2);
    verify_file(*file, pool);
  }
}

std::string text_of(const std::string& path) {
  const std::vector<std::byte> bytes = read_bytes(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Golden, TheDocumentQuotesTheSchema) {
  const std::string root = golden_path("../../../");
  const std::string schema = text_of(root + "src/file/format.fbs");
  const std::string body = schema.substr(schema.find("namespace"));
  EXPECT_NE(text_of(root + "docs/format.md").find(body), std::string::npos);
}

}  // namespace
}  // namespace basalt::test
