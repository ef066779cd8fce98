-- Says what wrk did in one line that the driver reads. Without request() and
-- response() this costs nothing while wrk runs.
function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    "\nwick-bench requests=%d bytes=%d microseconds=%d errors=%d median=%d\n",
    summary.requests, summary.bytes, summary.duration,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50)))
end
