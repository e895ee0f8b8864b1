"""A few SVG elements, escaped.

Charts place things horizontally in percent of their width and vertically in pixels, so that a chart stretches to any
page width while its text keeps its size. Shapes of many points live in a nested element with a view box of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape


def element(name: str, *children: str, **attributes: str | int | float | None) -> Markup:
    """One element. Children that are not Markup are escaped; an attribute `class_` is `class`, `a_b` is `a-b`.

    Attributes that are None are left out; floats are printed with at most three decimals.
    """
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is None:
            continue
        label = key.rstrip("_").replace("_", "-") if key not in _CAMEL else _CAMEL[key]
        parts.append(f' {label}="{escape(_number(value) if isinstance(value, float) else value)}"')
    if children:
        parts.append(">")
        parts.extend(str(escape(child)) for child in children)
        parts.append(f"</{name}>")
    else:
        parts.append("/>")
    return Markup("".join(parts))  # noqa: S704  (names are literals, values and children were escaped above)


_CAMEL = {"view_box": "viewBox", "preserve_aspect_ratio": "preserveAspectRatio"}


def _number(value: float) -> str:
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def joined(parts: Iterable[str]) -> Markup:
    """Elements one after the other."""
    return Markup("").join(parts)


def chart(height_px: int, *children: str, label: str, class_: str = "chart") -> Markup:
    """An outermost element that fills the width it is given; `label` is what a screen reader says."""
    return element(
        "svg",
        *children,
        class_=class_,
        aria_label=label,
        width="100%",
        height=height_px,
        role="img",
    )


def at(share: float) -> str:
    """A horizontal position: a share of the width, 0 to 1, in percent."""
    return _number(share * 100) + "%"


def text(
    share: float,
    y_px: float,
    content: str,
    class_: str,
    anchor: str = "start",
    second: str = "",
    second_class: str = "",
) -> Markup:
    """One line of text, with an optional second part in a style of its own."""
    return element(
        "text",
        content,
        *((element("tspan", second, class_=second_class),) if second else ()),
        x=at(share),
        y=float(y_px),
        class_=class_,
        text_anchor=None if anchor == "start" else anchor,
    )


def vertical(share: float, top_px: float, bottom_px: float, class_: str) -> Markup:
    """A vertical line."""
    return element("line", x1=at(share), x2=at(share), y1=float(top_px), y2=float(bottom_px), class_=class_)


def bar(start: float, end: float, y_px: float, height_px: float, class_: str, title: str | None = None) -> Markup:
    """A horizontal bar from share `start` to share `end`, with an optional hover text."""
    children = (element("title", title),) if title is not None else ()
    return element(
        "rect",
        *children,
        x=at(start),
        width=at(max(end - start, 0.0)),
        y=float(y_px),
        height=float(height_px),
        class_=class_,
    )


def columns(counts: Sequence[int], y_px: float, height_px: float, class_: str) -> Markup:
    """Equal columns side by side over the whole width, linear in height; a count above zero is at least 2 px tall."""
    highest = max(counts, default=0)
    if highest == 0:
        return Markup("")
    least = 2.0 / height_px
    runs = []
    for index, number in enumerate(counts):
        if number:
            top = _number(100 - 100 * max(number / highest, least))
            runs.append(f"M{index} 100V{top}H{index + 1}V100Z")
    return element(
        "svg",
        element("path", d="".join(runs), class_=class_),
        x="0",
        y=float(y_px),
        width="100%",
        height=float(height_px),
        view_box=f"0 0 {len(counts)} 100",
        preserve_aspect_ratio="none",
    )


def step_line(points: Sequence[tuple[float, float] | None], y_px: float, height_px: float, class_: str) -> Markup:
    """A curve that holds each value until the next; points are (share of width, share of height from the bottom).

    None breaks the curve.
    """
    path: list[str] = []
    pen_down = False
    for point in points:
        if point is None:
            pen_down = False
            continue
        x, y = _number(point[0] * 1000), _number(100 - point[1] * 100)
        path.append(f"H{x}V{y}" if pen_down else f"M{x} {y}")
        pen_down = True
    return element(
        "svg",
        element("path", d="".join(path), class_=class_),
        x="0",
        y=float(y_px),
        width="100%",
        height=float(height_px),
        view_box="0 0 1000 100",
        preserve_aspect_ratio="none",
        class_="curve",
    )
