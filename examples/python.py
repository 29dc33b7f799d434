#!/usr/bin/env python3
"""Loads files and reads them back with the standard library alone. Run it as often as you like."""

import csv
import gzip
import http.client
import io
import json
import os
import pathlib
import time
import urllib.error
import urllib.request
import uuid

URL = os.environ.get("PRICEWELL_URL", "http://127.0.0.1:3000")
EMAIL = os.environ.get("PRICEWELL_EMAIL", "admin@example.com")
PASSWORD = os.environ.get("PRICEWELL_PASSWORD", "correct horse battery staple")
DATA = pathlib.Path(__file__).parent / "data"


def call(method, path, body=None, **headers):
    """Sends a request, up to eight times if the service is busy or away. The key prevents a second effect of a POST."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    if method == "POST":
        headers["idempotency-key"] = str(uuid.uuid4())
    for wait in (0.25, 0.5, 1, 2, 4, 8, 16, 0):
        request = urllib.request.Request(URL + path, data=body, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request) as response:
                return response.read()
        except urllib.error.HTTPError as error:
            reason = error.read().decode()
            # 409 comes with Retry-After while an earlier request with this key is running.
            if error.code not in (409, 429, 503) or "retry-after" not in error.headers:
                break
            wait = float(error.headers["retry-after"])
        except (OSError, http.client.HTTPException) as error:
            reason = error
        time.sleep(wait)
    raise SystemExit(f"{method} {path}: {reason}")


def post(path, value, **headers):
    body = json.dumps(value).encode()
    return json.loads(call("POST", path, body, content_type="application/json", **headers))


def load(path, file, **headers):
    body = gzip.compress((DATA / file).read_bytes())
    answer = call("POST", path, body, content_type="text/csv", content_encoding="gzip", **headers)
    return json.loads(answer)


token = post("/login/", {"email": EMAIL, "password": PASSWORD})["token"]
auth = {"authorization": f"jwt {token}"}

schema = {
    "attributes": [{"name": "description", "type": "string"}],
    "extensions": [{"name": "country", "type": "string"}],
    "costs": [{"name": "purchase"}, {"name": "freight"}],
}
post("/api/v1/product_catalog/schema/create_schema/", schema, **auth)
print("products:", load("/api/v1/product_catalog/bulk_create_or_update/", "products.csv", **auth))

# The job loads a file of any size and continues when this program ends.
job = load("/api/v1/sales_history/bulk_create_or_update", "sales.csv", prefer="respond-async", **auth)
while job["status"] == "progress":
    time.sleep(0.2)
    job = json.loads(call("GET", f"/api/v1/jobs/{job['id']}/", **auth))
print("sales:", job["status"], job["progress"])
if job["status"] != "done":
    raise SystemExit(job["errors"])

# Lists can be read as files, too: all rows as of one moment.
export = call("GET", "/api/v1/sales_history/?code=MUG-01", accept="text/csv", **auth).decode("utf-8-sig")
for sale in csv.DictReader(io.StringIO(export, newline="")):
    print(sale["transaction_id"], sale["quantity"], sale["revenue"])
