"""Reads an interval log with the Python library `hdrhistogram` and prints what each tag comes to, one JSON a line."""

import json
import sys

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

HIGHEST = 10**15

reader = HistogramLogReader(sys.argv[1], HdrHistogram(1, HIGHEST, 3))
totals, seconds = {}, {}
while True:
    histogram = reader.get_next_interval_histogram()
    if histogram is None:
        break
    tag = histogram.get_tag()
    totals.setdefault(tag, HdrHistogram(1, HIGHEST, 3)).add(histogram)
    length = histogram.get_end_time_stamp() - histogram.get_start_time_stamp()
    seconds[tag] = seconds.get(tag, 0) + length / 1000
for tag, total in totals.items():
    print(json.dumps({
        "tag": tag,
        "count": total.get_total_count(),
        "p50": total.get_value_at_percentile(50),
        "p99": total.get_value_at_percentile(99),
        "max": total.get_max_value(),
        "seconds": round(seconds[tag], 3),
    }))
