"""The catalogue over HTTP."""

import httpx


def test_listing_goes_through_all_pages(api: httpx.Client) -> None:
    seen: list[str] = []
    cursor = None
    while True:
        page = api.get("/tasks", params={"limit": 7} | ({"cursor": cursor} if cursor else {})).json()
        assert len(page["data"]) <= 7
        seen += [task["id"] for task in page["data"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    everything = api.get("/tasks", params={"limit": 500}).json()["data"]
    assert seen == [task["id"] for task in everything]
    assert len(set(seen)) == len(seen) >= 12


def test_filters(api: httpx.Client) -> None:
    for task in api.get("/tasks", params={"level": 2, "split": "train"}).json()["data"]:
        assert (task["level"], task["split"]) == (2, "train")


def test_an_id_holds_a_slash_escaped_or_not(api: httpx.Client) -> None:
    plain, escaped = api.get("/tasks/level1/19_ReLU"), api.get("/tasks/level1%2F19_ReLU")
    assert plain.status_code == escaped.status_code == 200
    assert plain.json() == escaped.json()
    assert "class Model" in plain.json()["source"]
    assert plain.json()["special_inputs"]
