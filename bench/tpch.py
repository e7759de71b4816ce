#!/usr/bin/env python3
"""The 22 queries of TPC-H: Basalt on the CPU and the GPU beside DuckDB, in one run.

    bench/tpch.py --scale 10 --stage 0/3                      (only makes the data)
    bench/tpch.py --scale 10 --stage 1/3 --json OUT.json      (every third query)
    bench/tpch.py --json OUT.json --chart OUT.svg

Texts are those of DuckDB's extension, with the literals of TPC-H's validation; other runs have literals by the rules of
its clause 2.4.

"""
import datetime
import json
import re
import sys

from query_set import QuerySet, main
from sessions import call

TABLES = ["lineitem", "orders", "partsupp", "part", "customer", "supplier", "nation", "region"]
REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
# In the order of their keys.
NATIONS = {"ALGERIA": "AFRICA", "ARGENTINA": "AMERICA", "BRAZIL": "AMERICA", "CANADA": "AMERICA",
           "EGYPT": "MIDDLE EAST", "ETHIOPIA": "AFRICA", "FRANCE": "EUROPE", "GERMANY": "EUROPE", "INDIA": "ASIA",
           "INDONESIA": "ASIA", "IRAN": "MIDDLE EAST", "IRAQ": "MIDDLE EAST", "JAPAN": "ASIA", "JORDAN": "MIDDLE EAST",
           "KENYA": "AFRICA", "MOROCCO": "AFRICA", "MOZAMBIQUE": "AFRICA", "PERU": "AMERICA", "CHINA": "ASIA",
           "ROMANIA": "EUROPE", "SAUDI ARABIA": "MIDDLE EAST", "VIETNAM": "ASIA", "RUSSIA": "EUROPE",
           "UNITED KINGDOM": "EUROPE", "UNITED STATES": "AMERICA"}
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
TYPES = (["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"],
         ["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"], ["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"])
CONTAINERS = (["SM", "LG", "MED", "JUMBO", "WRAP"], ["CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"])
SHIP_MODES = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"]
COMMENT_WORDS = (["special", "pending", "unusual", "express"], ["packages", "requests", "accounts", "deposits"])
COLOURS = """almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished chartreuse
chiffon chocolate coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick floral forest frosted
gainsboro ghost goldenrod green grey honeydew hot indian ivory khaki lace lavender lawn lemon light lime linen magenta
maroon medium metallic midnight mint misty moccasin navajo navy olive orange orchid pale papaya peach peru pink plum
powder puff purple red rose rosy royal saddle salmon sandy seashell sienna sky slate smoke snow spring steel tan thistle
tomato turquoise violet wheat white yellow""".split()


def replaced(text, literals):
    """A text with other literals; each that is to be replaced must be there."""
    for old in literals:
        if old not in text:
            raise ValueError(f"{old!r} is not in {text!r}")
    longest_first = sorted(literals, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest_first)), lambda match: literals[match.group()], text)


def first_of_month(months):
    """The first day of a month, counted from January of the year 0."""
    return datetime.date(months // 12, months % 12 + 1, 1)


def months(random, first, last, standard, length):
    """A span of some months that begins in a month between two others, each a year and a month, in place of another."""
    number = lambda year, month: year * 12 + month - 1
    start = random.randint(number(*first), number(*last))
    return {str(first_of_month(number(*standard) + after)): str(first_of_month(start + after)) for after in (0, length)}


def year(random, standard):
    """A year from 1993 to 1997 in place of another."""
    start = random.randint(1993, 1997)
    return {f"{standard + after}-01-01": f"{start + after}-01-01" for after in (0, 1)}


def brand(random):
    return f"Brand#{random.randint(1, 5)}{random.randint(1, 5)}"


def words(random, lists):
    return " ".join(map(random.choice, lists))


def q1(random):
    return {"1998-09-02": str(datetime.date(1998, 12, 1) - datetime.timedelta(days=random.randint(60, 120)))}


def q2(random):
    return {"p_size = 15": f"p_size = {random.randint(1, 50)}", "BRASS": random.choice(TYPES[2]),
            "EUROPE": random.choice(REGIONS)}


def q3(random):
    return {"BUILDING": random.choice(SEGMENTS), "1995-03-15": f"1995-03-{random.randint(1, 31):02}"}


def q4(random):
    return months(random, (1993, 1), (1997, 10), (1993, 7), 3)


def q5(random):
    return {"ASIA": random.choice(REGIONS), **year(random, 1994)}


def q6(random):
    hundredths = random.randint(2, 9)
    return {"0.05": f"0.{hundredths - 1:02}", "0.07": f"0.{hundredths + 1:02}",
            "l_quantity < 24": f"l_quantity < {random.randint(24, 25)}", **year(random, 1994)}


def q7(random):
    first, second = random.sample(list(NATIONS), 2)
    return {"FRANCE": first, "GERMANY": second}


def q8(random):
    nation = random.choice(list(NATIONS))
    return {"BRAZIL": nation, "AMERICA": NATIONS[nation], "ECONOMY ANODIZED STEEL": words(random, TYPES)}


def q9(random):
    return {"green": random.choice(COLOURS)}


def q10(random):
    return months(random, (1993, 2), (1995, 1), (1993, 10), 3)


def q11(random):
    return {"GERMANY": random.choice(list(NATIONS))}


def q12(random):
    first, second = random.sample(SHIP_MODES, 2)
    return {"MAIL": first, "SHIP": second, **year(random, 1994)}


def q13(random):
    return {"special": random.choice(COMMENT_WORDS[0]), "requests": random.choice(COMMENT_WORDS[1])}


def q14(random):
    return months(random, (1993, 1), (1997, 12), (1995, 9), 1)


def q15(random):
    return months(random, (1993, 1), (1997, 10), (1996, 1), 3)


def q16(random):
    sizes = ", ".join(map(str, random.sample(range(1, 51), 8)))
    return {"Brand#45": brand(random), "MEDIUM POLISHED": words(random, TYPES[:2]),
            "49, 14, 23, 45, 19, 3, 36, 9": sizes}


def q17(random):
    return {"Brand#23": brand(random), "MED BOX": words(random, CONTAINERS)}


def q18(random):
    return {"> 300": f"> {random.randint(312, 315)}"}


def q19(random):
    literals = {"Brand#12": brand(random), "Brand#23": brand(random), "Brand#34": brand(random)}
    for least, most in ((1, 10), (10, 20), (20, 30)):
        quantity = random.randint(least, most)
        literals[f"l_quantity >= {least}"] = f"l_quantity >= {quantity}"
        literals[f"l_quantity <= {least} + 10"] = f"l_quantity <= {quantity} + 10"
    return literals


def q20(random):
    return {"forest": random.choice(COLOURS), "CANADA": random.choice(list(NATIONS)), **year(random, 1994)}


def q21(random):
    return {"SAUDI ARABIA": random.choice(list(NATIONS))}


def q22(random):
    # A country's code is its nation's key and 10.
    codes = ", ".join(f"'{10 + key}'" for key in random.sample(range(len(NATIONS)), 7))
    return {"'13', '31', '23', '29', '30', '18', '17'": codes}


RULES = {str(number): rule for number, rule in enumerate(
    (q1, q2, q3, q4, q5, q6, q7, q8, q9, q10, q11, q12, q13, q14, q15, q16, q17, q18, q19, q20, q21, q22), 1)}


def read_texts(program, scale):
    lines = call(program, ["sql", "-q", "--format", "ndjson", "from tpch_queries()"]).splitlines()
    texts = {str(row["query_nr"]): row["query"].strip().rstrip(";") for row in map(json.loads, lines)}
    # The share that Q11 asks for is smaller where there are more suppliers.
    texts["11"] = replaced(texts["11"], {"0.0001000000": f"{0.0001 / scale:.10f}"})
    return texts


def vary(name, text, random):
    return replaced(text, RULES[name](random))


TPCH = QuerySet(name="tpch", title="TPC-H", tables=TABLES, warm_up="select count(*) from nation where n_nationkey < 5",
                texts=read_texts, vary=vary)

if __name__ == "__main__":
    sys.exit(main(TPCH, __doc__))
