"""Files that are no system files at all."""

from __future__ import annotations

import codecs

import pytest

from rt_sched.config import load_system
from rt_sched.config.yaml_nodes import MAX_FILE_BYTES
from rt_sched.errors import ConfigError


def _message(path, stages) -> str:
    with pytest.raises(ConfigError) as caught:
        load_system(path, stages=stages)
    return str(caught.value).removeprefix(f"{path}")


def test_missing_file_suggests_a_neighbour(tmp_path, stages) -> None:
    (tmp_path / "quad_orin.yaml").write_text("rt_sched: 1")
    said = _message(tmp_path / "quad_orn.yaml", stages)
    assert said == (
        "  there is no such file; unknown name 'quad_orn.yaml'; did you mean 'quad_orin.yaml'? valid: quad_orin.yaml"
    )


def test_missing_file_without_neighbours(tmp_path, stages) -> None:
    assert _message(tmp_path / "a.yaml", stages) == "  there is no such file"


def test_missing_folder(tmp_path, stages) -> None:
    said = _message(tmp_path / "no" / "a.yaml", stages)
    assert said == f"  there is no such file, and no folder {tmp_path / 'no'} that can be read"


def test_folder(tmp_path, stages) -> None:
    assert _message(tmp_path, stages) == "  this is a folder, not a system file"


def test_name_with_a_null_byte(tmp_path, stages) -> None:
    assert "cannot be read" in _message(f"{tmp_path}/a\0b.yaml", stages)


def test_file_used_as_folder(tmp_path, stages) -> None:
    (tmp_path / "file").write_text("x")
    assert "cannot be read: Not a directory" in _message(tmp_path / "file" / "a.yaml", stages)


@pytest.mark.parametrize("content", [b"", b" \n\n ", codecs.BOM_UTF8])
def test_empty_file(tmp_path, stages, content) -> None:
    (tmp_path / "a.yaml").write_bytes(content)
    assert _message(tmp_path / "a.yaml", stages) == "  the file is empty"


def test_huge_file_is_refused_unparsed(tmp_path, stages) -> None:
    (tmp_path / "a.yaml").write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    assert "a system file has at most" in _message(tmp_path / "a.yaml", stages)


@pytest.mark.parametrize("depth", [101, 400])
def test_deep_nesting(tmp_path, stages, depth) -> None:
    (tmp_path / "a.yaml").write_text("a: " + "[" * depth + "]" * depth)
    assert _message(tmp_path / "a.yaml", stages).endswith("nests more than 100 levels of lists or mappings")


def test_long_chain_of_merges(tmp_path, stages) -> None:
    links = "".join(f"x-{n}: &a{n} {{<<: *a{n - 1}}}\n" for n in range(1, 500))
    (tmp_path / "a.yaml").write_text("x-0: &a0 {k: 1}\n" + links)
    assert _message(tmp_path / "a.yaml", stages).endswith("nests more than 100 levels of lists or mappings")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_are_understood(tmp_path, stages, valid_text, encoding) -> None:
    (tmp_path / "a.yaml").write_text(valid_text, encoding=encoding)
    assert load_system(tmp_path / "a.yaml", stages=stages).name == "small"


def test_windows_line_ends(tmp_path, stages, valid_text) -> None:
    (tmp_path / "a.yaml").write_bytes(valid_text.replace("\n", "\r\n").encode())
    assert load_system(tmp_path / "a.yaml", stages=stages).name == "small"


def test_base_dir_is_the_folder_of_the_file(tmp_path, stages, valid_text) -> None:
    (tmp_path / "a.yaml").write_text(valid_text)
    assert load_system(tmp_path / "a.yaml", stages=stages).base_dir == str(tmp_path.resolve())
