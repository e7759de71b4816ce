// `basalt gen tpch` and `basalt gen tpcds`: DuckDB's generators fill tables of a session, which are written in order,
// or make the rows of files directly.
#include <fmt/format.h>

#include <filesystem>

#include "cli/gen.h"
#include "cli/progress.h"
#include "gen/tpch/rows.h"

namespace basalt::cli {

namespace {

// Sorting also makes the files independent of how many threads the generator used.
TableJob sorted_job(const std::string& name, const std::vector<std::string>& keys) {
  return {name, fmt::format("select * from {} order by {}", name, fmt::join(keys, ", ")), keys};
}

std::vector<TableJob> tpch_jobs(bool clustered) {
  std::vector<TableJob> jobs;
  if (clustered) {
    jobs.push_back({"lineitem",
                    "select lineitem.* from lineitem join orders on l_orderkey = o_orderkey "
                    "order by o_orderdate, l_orderkey, l_linenumber",
                    {}});
    jobs.push_back(sorted_job("orders", {"o_orderdate", "o_orderkey"}));
  } else {
    jobs.push_back(sorted_job("lineitem", {"l_orderkey", "l_linenumber"}));
    jobs.push_back(sorted_job("orders", {"o_orderkey"}));
  }
  jobs.push_back(sorted_job("partsupp", {"ps_partkey", "ps_suppkey"}));
  jobs.push_back(sorted_job("part", {"p_partkey"}));
  jobs.push_back(sorted_job("customer", {"c_custkey"}));
  jobs.push_back(sorted_job("supplier", {"s_suppkey"}));
  jobs.push_back(sorted_job("nation", {"n_nationkey"}));
  jobs.push_back(sorted_job("region", {"r_regionkey"}));
  return jobs;
}

// Sales and returns by the number of their ticket or order, or first by their date.
std::vector<TableJob> tpcds_jobs(bool clustered) {
  struct Fact {
    const char *name, *date, *number, *item;
  };
  constexpr Fact kFacts[] = {
      {"store_sales", "ss_sold_date_sk", "ss_ticket_number", "ss_item_sk"},
      {"store_returns", "sr_returned_date_sk", "sr_ticket_number", "sr_item_sk"},
      {"catalog_sales", "cs_sold_date_sk", "cs_order_number", "cs_item_sk"},
      {"catalog_returns", "cr_returned_date_sk", "cr_order_number", "cr_item_sk"},
      {"web_sales", "ws_sold_date_sk", "ws_order_number", "ws_item_sk"},
      {"web_returns", "wr_returned_date_sk", "wr_order_number", "wr_item_sk"},
  };
  constexpr std::pair<const char*, const char*> kDimensions[] = {
      {"call_center", "cc_call_center_sk"},
      {"catalog_page", "cp_catalog_page_sk"},
      {"customer", "c_customer_sk"},
      {"customer_address", "ca_address_sk"},
      {"customer_demographics", "cd_demo_sk"},
      {"date_dim", "d_date_sk"},
      {"household_demographics", "hd_demo_sk"},
      {"income_band", "ib_income_band_sk"},
      {"item", "i_item_sk"},
      {"promotion", "p_promo_sk"},
      {"reason", "r_reason_sk"},
      {"ship_mode", "sm_ship_mode_sk"},
      {"store", "s_store_sk"},
      {"time_dim", "t_time_sk"},
      {"warehouse", "w_warehouse_sk"},
      {"web_page", "wp_web_page_sk"},
      {"web_site", "web_site_sk"},
  };
  std::vector<TableJob> jobs;
  for (const Fact& fact : kFacts) {
    std::vector<std::string> keys = {fact.number, fact.item};
    if (clustered) keys.insert(keys.begin(), fact.date);
    jobs.push_back(sorted_job(fact.name, keys));
  }
  jobs.push_back(sorted_job("inventory", {"inv_date_sk", "inv_item_sk", "inv_warehouse_sk"}));
  for (const auto& [name, key] : kDimensions) jobs.push_back(sorted_job(name, {key}));
  return jobs;
}

int run_generator(const std::string& benchmark, void (Session::*generate)(double), const std::vector<TableJob>& jobs,
                  const GenOptions& options, bool quiet) {
  std::filesystem::create_directories(options.folder);
  Session session(session_options(options));
  {
    ProgressBar bar(fmt::format("generating {} at scale {}", benchmark, options.scale), quiet, 0, {});
    const InterruptGuard interrupt([&] { session.interrupt(); });
    (session.*generate)(options.scale);
  }
  GenReport report;
  for (const TableJob& job : jobs) {
    const std::string path = path_of(options, job.name);
    report.time(path, [&] { return write_table(session, job, options, path, quiet); });
  }
  report.finish(quiet);
  return kSuccess;
}

// Rows that come in their order need no tables: they go from the generator to the files.
int stream_tpch(const GenOptions& options, bool quiet) {
  std::filesystem::create_directories(options.folder);
  const TpchRows rows(options.scale);
  GenReport report;
  for (const TableJob& job : tpch_jobs(false)) {
    const std::string path = path_of(options, job.name);
    report.time(path, [&] {
      const auto make = [&](uint64_t begin, uint64_t end) { return rows.make(job.name, begin, end); };
      const NextRows next = rows_in_rounds(rows.units(job.name), make, options.threads, nullptr);
      return write_rows(tpch_schema(job.name), next, job.sort_columns, options, path, quiet);
    });
  }
  report.finish(quiet);
  return kSuccess;
}

}  // namespace

int run_tpch(const GenOptions& options, bool quiet) {
  if (options.format == "basalt" && !options.clustered) return stream_tpch(options, quiet);
  return run_generator("TPC-H", &Session::generate_tpch, tpch_jobs(options.clustered), options, quiet);
}

int run_tpcds(const GenOptions& options, bool quiet) {
  return run_generator("TPC-DS", &Session::generate_tpcds, tpcds_jobs(options.clustered), options, quiet);
}

}  // namespace basalt::cli
