"""A query of aggregates as two: one for each part of a table, and one over what these give.

The statement is taken apart as DuckDB's own tree of it, in JSON, and both are put together from its pieces."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pybasalt

#: The table that the second statement reads.
PARTS = "parts"
#: A piece of DuckDB's tree.
Tree = dict[str, Any]
_AGGREGATES = {"sum", "count", "count_star", "min", "max", "avg"}


class CannotSplit(ValueError):
    """Why a query is not the same over parts of a table."""


def _function(name: str, *children: Tree, alias: str = "") -> Tree:
    return {"class": "FUNCTION", "type": "FUNCTION", "alias": alias, "function_name": name, "schema": "", "catalog": "",
            "children": list(children), "filter": None, "order_bys": {"type": "ORDER_MODIFIER", "orders": []},
            "distinct": False, "is_operator": name == "/", "export_state": False}


def _column(name: str, alias: str = "") -> Tree:
    return {"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": alias, "column_names": [name]}


def _bigint(child: Tree) -> Tree:
    return {"class": "CAST", "type": "OPERATOR_CAST", "alias": "", "child": child, "try_cast": False,
            "cast_type": {"id": "BIGINT", "type_info": None}}


def _without_places(tree: Any) -> Any:
    """The tree without what does not change its meaning: to compare expressions."""
    if isinstance(tree, dict):
        return {key: _without_places(value) for key, value in tree.items() if key not in ("query_location", "alias")}
    return [_without_places(item) for item in tree] if isinstance(tree, list) else tree


def _value(query: str, parameter: str) -> str:
    """The text that a query gives."""
    return str(pybasalt.sql(query, [parameter]).fetchall()[0][0])


def _parse(sql: str) -> Tree:
    tree: Tree = json.loads(_value("select json_serialize_sql(?::varchar)", sql))
    if tree["error"]:
        raise pybasalt.ArgumentError(tree["error_message"], "invalid argument")
    if len(tree["statements"]) != 1 or tree["statements"][0]["node"]["type"] != "SELECT_NODE":
        raise CannotSplit("it is not one SELECT")
    return tree


def _print(tree: Tree) -> str:
    return _value("select json_deserialize_sql(?::json)", json.dumps(tree))


def _check_from(node: Tree, split: str) -> bool:
    """Whether the table that is split is below; raises where rows of a part would not stand for themselves."""
    if node["type"] == "BASE_TABLE":
        return node["table_name"] == split
    if node["type"] == "JOIN":
        left, right = _check_from(node["left"], split), _check_from(node["right"], split)
        if left and right:
            raise CannotSplit(f"{split} is joined with itself")
        kind = node["join_type"]
        if kind != "INNER" and not (kind in ("LEFT", "SEMI", "ANTI") and left):
            raise CannotSplit(f"a {kind} join needs all of {split} at once")
        return left or right
    raise CannotSplit("FROM has something other than tables and joins")


class _Merge:
    """Turns expressions over the table into expressions over what its parts gave."""

    def __init__(self, keys: list[Tree]) -> None:
        self.keys = [_without_places(key) for key in keys]
        self.partial = [{**copy.deepcopy(key), "alias": f"k{i}"} for i, key in enumerate(keys)]
        self._known: dict[str, str] = {}

    def _part(self, aggregate: Tree) -> Tree:
        """The column that an aggregate over a part becomes."""
        text = json.dumps(_without_places(aggregate), sort_keys=True)
        if text not in self._known:
            self._known[text] = f"a{len(self._known)}"
            self.partial.append({**copy.deepcopy(aggregate), "alias": self._known[text]})
        return _column(self._known[text])

    def _aggregate(self, node: Tree) -> Tree:
        name = node["function_name"]
        if node["distinct"]:
            raise CannotSplit(f"{name}(DISTINCT …) is not a sum over parts")
        if name in ("count", "count_star"):
            return _bigint(_function("sum", self._part(node)))
        if name == "avg":
            total = _function("sum", self._part({**node, "function_name": "sum"}))
            return _function("/", total, _function("sum", self._part({**node, "function_name": "count"})))
        return _function(name, self._part(node))

    def rewrite(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return [self.rewrite(item) for item in tree]
        if not isinstance(tree, dict):
            return tree
        if "class" in tree and _without_places(tree) in self.keys:
            return _column(f"k{self.keys.index(_without_places(tree))}", tree.get("alias", ""))
        if tree.get("class") == "FUNCTION" and tree["function_name"] in _AGGREGATES:
            return {**self._aggregate(tree), "alias": tree["alias"]}
        if tree.get("class") == "WINDOW" or tree.get("class") == "SUBQUERY":
            raise CannotSplit(f"it has a {tree['class'].lower()}")
        return {key: self.rewrite(value) for key, value in tree.items()}


def _name(node: Tree) -> str:
    """What a column of the result is called: without an alias, as it is written."""
    if node["alias"] or node["class"] == "COLUMN_REF":
        return node["alias"] or node["column_names"][-1]
    tree = _parse("select 1")
    tree["statements"][0]["node"]["select_list"] = [node]
    return _print(tree).removeprefix("SELECT ")


def _contains(tree: Any, holds: Callable[[Tree], bool]) -> bool:
    if isinstance(tree, dict):
        return holds(tree) or any(_contains(value, holds) for value in tree.values())
    return isinstance(tree, list) and any(_contains(item, holds) for item in tree)


def split(sql: str, table: str) -> tuple[str, str]:
    """The statement for a part of `table`, and the one over all of their rows, a table named `parts`.

    >>> part, whole = split("select city, avg(fare) as f from trips group by city order by f", "trips")
    >>> part
    'SELECT city AS k0, sum(fare) AS a0, count(fare) AS a1 FROM trips GROUP BY city'
    >>> whole
    'SELECT k0 AS city, (sum(a0) / sum(a1)) AS f FROM parts GROUP BY k0 ORDER BY f'
    """
    tree = _parse(sql)
    node = tree["statements"][0]["node"]
    if node["cte_map"]["map"]:
        raise CannotSplit("it has a WITH")
    if node["qualify"] or node["sample"] or any(m["type"] == "DISTINCT_MODIFIER" for m in node["modifiers"]):
        raise CannotSplit("it has DISTINCT, QUALIFY or a sample")
    if len(node["group_sets"]) > 1 or node["aggregate_handling"] != "STANDARD_HANDLING":
        raise CannotSplit("its groups are not a list of keys")
    if not _check_from(node["from_table"], table):
        raise CannotSplit(f"it does not read {table}")
    keys = [_key(key, node["select_list"]) for key in node["group_expressions"]]
    aggregates = _contains(node["select_list"], lambda n: n.get("class") == "FUNCTION" and
                           n["function_name"] in _AGGREGATES)
    if not keys and not aggregates:
        raise CannotSplit("it has neither groups nor aggregates")
    merge = _Merge(keys)
    whole = copy.deepcopy(tree)
    over = whole["statements"][0]["node"]
    over["select_list"] = [{**merge.rewrite(item), "alias": _name(item)} for item in node["select_list"]]
    over["having"] = merge.rewrite(node["having"])
    over["modifiers"] = merge.rewrite(node["modifiers"])
    over["where_clause"] = None
    over["group_expressions"] = [_column(f"k{i}") for i in range(len(keys))]
    over["from_table"] = {"type": "BASE_TABLE", "alias": "", "sample": None, "schema_name": "", "table_name": PARTS,
                          "column_name_alias": [], "catalog_name": "", "at_clause": None}
    node["select_list"] = merge.partial
    node["group_expressions"] = [{**key, "alias": ""} for key in keys]
    node["having"], node["modifiers"] = None, []
    return _print(tree), _print(whole)


def _key(key: Tree, select_list: list[Tree]) -> Tree:
    """A key; of GROUP BY 1 and of an alias what they stand for."""
    if key["class"] == "CONSTANT":
        return select_list[key["value"]["value"] - 1]
    for item in select_list:
        if key["class"] == "COLUMN_REF" and item["alias"] and key["column_names"] == [item["alias"]]:
            return item
    return key
