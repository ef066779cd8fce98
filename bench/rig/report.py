"""Targets and verdicts, and how they are shown: on the terminal and in README.md."""

import sys
from dataclasses import dataclass, field

BEGIN = "<!-- measured: begin -->"
END = "<!-- measured: end -->"


@dataclass
class Row:
    """One figure with its target."""

    figure: str
    measured: str
    target: str
    verdict: str


@dataclass
class Table:
    """What stands behind the rows."""

    title: str
    heads: list
    lines: list


@dataclass
class Report:
    """What one measurement found."""

    rows: list = field(default_factory=list)
    tables: list = field(default_factory=list)

    def judge(self, figure, value, target, shown="{:.2f}", at_least=True):
        """Adds a row; a value of None is one that could not be measured."""
        sign = "≥" if at_least else "≤"
        wanted = f"{sign} {shown.format(target)}"
        if value is None:
            self.rows.append(Row(figure, "Wick is not built", wanted, "–"))
            return
        met = value >= target if at_least else value <= target
        self.rows.append(Row(figure, shown.format(value), wanted, "met" if met else "**missed**"))

    def promise(self, figure, measured, target, broken):
        """Adds a row that is met unless something stands in `broken`."""
        verdict = f"**broken**: {'; '.join(broken)}" if broken else "met"
        self.rows.append(Row(figure, measured, target, verdict.replace("|", "/")))

    def void(self, figure, why):
        """Adds a row that says that nothing was found out."""
        self.rows.append(Row(figure, f"void: {str(why).splitlines()[0]}", "", "**void**"))

    def add(self, other):
        """Takes over another report's rows and tables."""
        self.rows += other.rows
        self.tables += other.tables

    @property
    def good(self):
        """Whether nothing was missed or void."""
        return all("**" not in row.verdict for row in self.rows)

    def markdown(self, facts):
        """The rows, the facts, and the tables behind the rows."""
        rows = [[row.figure, row.measured, row.target, row.verdict] for row in self.rows]
        parts = [_markdown_table(["figure", "measured", "target", "verdict"], rows)]
        parts.append("\n".join(f"- {fact}" for fact in facts))
        for table in self.tables:
            parts.append(f"**{table.title}**\n\n{_markdown_table(table.heads, table.lines)}")
        return "\n\n".join(parts)


def write_between_markers(file, text, section=None):
    """Replaces what stands between the markers of `file`; of a page that several measurements
    write, between those of this one's section."""
    begin, end = BEGIN, END
    if section:
        begin, end = (mark.replace("measured", f"measured {section}") for mark in (BEGIN, END))
    whole = file.read_text()
    start = whole.index(begin) + len(begin)
    rest = whole[whole.index(end, start) :]
    file.write_text(f"{whole[:start]}\n{text}\n{rest}")


def progress(text):
    """A line for the one who waits; the result alone goes to standard output."""
    print(f"  {text}", file=sys.stderr, flush=True)


def _markdown_table(heads, lines):
    """Columns padded, so that it reads as well on a terminal."""
    cells = [heads, *lines]
    widths = [max(len(line[column]) for line in cells) for column in range(len(heads))]
    padded = [" | ".join(cell.ljust(width) for cell, width in zip(line, widths)) for line in cells]
    rule = " | ".join("-" * width for width in widths)
    return "\n".join(f"| {line} |" for line in [padded[0], rule, *padded[1:]])
