#!/usr/bin/env python3
"""The 13 queries of the Star Schema Benchmark: Basalt on the CPU and the GPU beside DuckDB, in one run.

    bench/ssb.py --scale 20 --stage 0/2                      (only makes the data)
    bench/ssb.py --scale 20 --stage 1/2 --json OUT.json      (every second query)
    bench/ssb.py --json OUT.json --chart OUT.svg

Its authors give literals and the share of rows that they leave (bench/ssb.sql); other runs have literals of the same
kind, which leave about the same share: another year, month, week, discount, region, nation, city, category or brand.

"""
import os
import sys

from query_set import QuerySet, main
from query_text import split_at, without_comments
from tpch import NATIONS, REGIONS, replaced

TABLES = ["lineorder", "customer", "supplier", "part", "date"]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
# Orders end in August 1998.
FULL_YEARS = (1992, 1997)


def discounts(random, standard):
    middle = random.randint(2, 8)
    between = lambda discount: f"lo_discount between {discount - 1} and {discount + 1}"
    return {between(standard): between(middle)}


def quantities(random):
    least = random.randint(1, 41)
    return {"lo_quantity between 26 and 35": f"lo_quantity between {least} and {least + 9}"}


def maker(random):
    return f"MFGR#{random.randint(1, 5)}"


def category(random):
    return f"{maker(random)}{random.randint(1, 5)}"


def two_makers(random):
    first, second = random.sample(range(1, 6), 2)
    return {"MFGR#1": f"MFGR#{first}", "MFGR#2": f"MFGR#{second}"}


def two_years(random):
    year = random.randint(FULL_YEARS[0], FULL_YEARS[1] - 1)
    return {"d_year = 1997": f"d_year = {year}", "d_year = 1998": f"d_year = {year + 1}"}


def two_cities(random):
    nation = random.choice(list(NATIONS))[:9].ljust(9)
    first, second = random.sample(range(10), 2)
    return {"UNITED KI1": f"{nation}{first}", "UNITED KI5": f"{nation}{second}"}


def other_literals(name, random):
    """Literals of a query in place of those of its text."""
    year, region = random.randint(*FULL_YEARS), random.choice(REGIONS)
    nation = random.choice([nation for nation, home in NATIONS.items() if home == region])
    if name == "1.1":
        return {"1993": str(year), **discounts(random, 2)}
    if name == "1.2":
        return {"199401": f"{year}{random.randint(1, 12):02}", **discounts(random, 5), **quantities(random)}
    if name == "1.3":
        week = {"d_weeknuminyear = 6": f"d_weeknuminyear = {random.randint(1, 52)}"}
        return {"d_year = 1994": f"d_year = {year}", **week, **discounts(random, 6), **quantities(random)}
    if name == "2.1":
        return {"MFGR#12": category(random), "AMERICA": region}
    if name == "2.2":
        brands = f"{category(random)}{random.randint(1, 3)}"
        return {"MFGR#2221": f"{brands}1", "MFGR#2228": f"{brands}8", "ASIA": region}
    if name == "2.3":
        return {"MFGR#2221": f"{category(random)}{random.randint(1, 40)}", "EUROPE": region}
    if name == "3.1":
        return {"ASIA": region}
    if name == "3.2":
        return {"UNITED STATES": nation}
    if name == "3.3":
        return two_cities(random)
    if name == "3.4":
        return {"Dec1997": f"{random.choice(MONTHS)}{year}", **two_cities(random)}
    if name == "4.1":
        return {"AMERICA": region, **two_makers(random)}
    if name == "4.2":
        return {"AMERICA": region, **two_makers(random), **two_years(random)}
    return {"AMERICA": region, "UNITED STATES": nation, "MFGR#14": category(random), **two_years(random)}


def read_texts(_program, _scale):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "ssb.sql"), encoding="utf-8") as file:
        named = [part.split("\n", 1) for part in file.read().split("-- Q")[1:]]
    return {name: split_at(without_comments(text), ";")[0] for name, text in named}


def vary(name, text, random):
    return replaced(text, other_literals(name, random))


SSB = QuerySet(name="ssb", title="SSB", tables=TABLES, warm_up="select count(*) from supplier where s_suppkey < 5",
               texts=read_texts, vary=vary)

if __name__ == "__main__":
    sys.exit(main(SSB, __doc__))
