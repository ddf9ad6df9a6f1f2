"""Reads a page of metrics with the Python library `prometheus-client` and prints each sample, one JSON a line."""

import json
import sys

from prometheus_client.parser import text_string_to_metric_families

with open(sys.argv[1], encoding="utf-8") as page:
    for family in text_string_to_metric_families(page.read()):
        for sample in family.samples:
            print(json.dumps({"type": family.type, "name": sample.name, "labels": sample.labels, "value": sample.value}))
