"""Statements as text: enough SQL to tell queries apart and to find the end of one and its sort keys."""
import re


def top_level(text):
    """Places outside of quotes and brackets, each with the character there."""
    depth, quote = 0, None
    for place, char in enumerate(text):
        if quote:
            quote = None if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif depth == 0:
            yield place, char


def split_at(text, separator):
    parts, start = [], 0
    for place, char in top_level(text):
        if char == separator:
            parts.append(text[start:place].strip())
            start = place + 1
    return [part for part in parts + [text[start:].strip()] if part]


def find_words(text, words):
    """The first place outside of quotes and brackets where these words stand; -1 if there is none."""
    for place, _ in top_level(text):
        if re.match(rf"\b{words}\b", text[place:], re.I) and not re.match(r"\w", text[place - 1:place]):
            return place
    return -1


def without_comments(text):
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))


def read_queries(path):
    with open(path, encoding="utf-8") as file:
        return split_at(without_comments(file.read()), ";")


def sort_keys(query):
    """Expressions after ORDER BY, without ASC and DESC."""
    place = find_words(query, r"ORDER\s+BY")
    if place < 0:
        return []
    text = re.sub(r"^ORDER\s+BY", "", query[place:], flags=re.I)
    ends = [end for end in (find_words(text, "LIMIT"), find_words(text, "OFFSET")) if end >= 0]
    keys = split_at(text[:min(ends)] if ends else text, ",")
    return [re.sub(r"\s+(ASC|DESC)\s*$", "", key, flags=re.I) for key in keys]
