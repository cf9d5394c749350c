#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads a page in the protobuf format with code that protoc makes from the published metrics.proto, and compares it with other pages.

usage: read_protobuf.py METRICS_PROTO PAGE.pb PAGE.txt

PAGE.txt is the text page of the same registry at the same moment. Every series of one must be in the other with the same value, except
those whose values are about the reading itself. Native histograms must be consistent: their buckets add up to the count, and each
classic bucket has at least as many observations as the native buckets that are wholly below its bound, and at most those that begin
below it. Prints a line about what was compared.
"""
import math
import subprocess
import sys
import tempfile
from pathlib import Path

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

COUNTER, GAUGE, HISTOGRAM = 0, 1, 4  # MetricType
MOVING = ("process_", "etw_exporter_config_", "etw_exporter_http_", "etw_exporter_s", "etw_consumer_busy_", "etw_consumer_lag_")  # other values at each page


def message_class(proto):
    """The class of MetricFamily. Fields that came after Debian's version of the description are added by their published numbers."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "set"
        subprocess.run(["protoc", "--include_imports", f"--descriptor_set_out={out}", f"--proto_path={Path(proto).parent}",
                        "--proto_path=/usr/include", Path(proto).name], check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        for message, field, number, type_name in (("Counter", "created_timestamp", 3, ".google.protobuf.Timestamp"),
                                                  ("Histogram", "created_timestamp", 15, ".google.protobuf.Timestamp"),
                                                  ("MetricFamily", "unit", 5, None)):
            for known in file.message_type:
                if file.package == "io.prometheus.client" and known.name == message and field not in [f.name for f in known.field]:
                    known.field.add(name=field, number=number, label=1, type=11 if type_name else 9, type_name=type_name)
        pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("io.prometheus.client.MetricFamily"))


def families(data, cls):
    at = 0
    while at < len(data):
        size = shift = 0
        while True:
            byte = data[at]
            at += 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        family = cls.FromString(data[at:at + size])
        assert family.IsInitialized() and not family.UnknownFields(), family.name
        yield family
        at += size
    assert at == len(data), "the last message is cut short"


def text_series(path):
    """{(name, labels): value} of a text page."""
    from prometheus_client.parser import text_string_to_metric_families
    found = {}
    for family in text_string_to_metric_families(Path(path).read_text(encoding="utf-8")):
        for sample in family.samples:
            found[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    return found


def with_le(labels, bound):
    return tuple(sorted(labels + (("le", bound),)))


def native_buckets(histogram):
    """[(index, count)] of the spans and deltas."""
    assert len(histogram.positive_delta) == sum(span.length for span in histogram.positive_span)
    index = count = 0
    buckets = []
    deltas = iter(histogram.positive_delta)
    for span in histogram.positive_span:
        index += span.offset
        for _ in range(span.length):
            count += next(deltas)
            buckets.append((index, count))
            index += 1
    return buckets


def check_native(name, histogram):
    buckets = native_buckets(histogram)
    assert -4 <= histogram.schema <= 3 and histogram.zero_threshold > 0, name
    assert all(count > 0 for _, count in buckets) and len(buckets) <= 160, name
    assert histogram.zero_count + sum(count for _, count in buckets) == histogram.sample_count, name
    base = 2 ** (2 ** -histogram.schema)
    for classic in histogram.bucket:
        bound = classic.upper_bound * (1 + 1e-12)
        low = histogram.zero_count + sum(count for index, count in buckets if base ** index <= bound)
        high = histogram.zero_count + sum(count for index, count in buckets if base ** (index - 1) < bound)
        assert low <= classic.cumulative_count <= high, (name, classic, low, high)
    return len(buckets)


def series_of(family):
    """(name, labels, value) as the text format has them."""
    for metric in family.metric:
        labels = tuple(sorted((pair.name, pair.value) for pair in metric.label))
        if family.type == COUNTER:
            assert metric.counter.created_timestamp.seconds > 1_500_000_000, family.name
            yield family.name, labels, metric.counter.value
        elif family.type == GAUGE:
            yield family.name, labels, metric.gauge.value
        else:
            histogram = metric.histogram
            assert family.type == HISTOGRAM and histogram.created_timestamp.seconds > 1_500_000_000, family.name
            for bucket in histogram.bucket:
                yield family.name + "_bucket", with_le(labels, bucket.upper_bound), bucket.cumulative_count
            yield family.name + "_bucket", with_le(labels, math.inf), histogram.sample_count
            yield family.name + "_count", labels, histogram.sample_count
            yield family.name + "_sum", labels, histogram.sample_sum


def main():
    proto, page, text = sys.argv[1:]
    expected = {(name, tuple((k, float(v) if k == "le" else v) for k, v in labels)): value
                for (name, labels), value in text_series(text).items()}
    names, compared, native, buckets = set(), 0, 0, 0
    for family in families(Path(page).read_bytes(), message_class(proto)):
        assert family.name not in names and family.help, family.name
        names.add(family.name)
        stem = family.name.removesuffix("_total")
        for unit in ("seconds", "bytes", "ratio"):
            assert (family.unit == unit) == stem.endswith("_" + unit), (family.name, family.unit)
        for metric in family.metric:
            if family.type == HISTOGRAM and metric.histogram.zero_threshold:
                native += 1
                buckets += check_native(family.name, metric.histogram)
        for name, labels, value in series_of(family):
            other = expected.pop((name, labels), None)
            assert other is not None, f"{name}{labels} is not on the text page"
            assert other == value or name.startswith(MOVING), f"{name}{labels}: {value}, {other} on the text page"
            compared += 1
    assert not expected, f"only on the text page: {list(expected)[:3]}"
    print(f"{len(names)} families, {compared} series, {native} native histograms with {buckets} buckets")


if __name__ == "__main__":
    main()
