-- Every request asks for a page that nobody asked for before: the number after n=
-- goes up from the one given as the first argument. One thread only.
local number, path

function init(arguments)
  number = tonumber(arguments[1])
  path = wrk.path
end

function request()
  number = number + 1
  return wrk.format("GET", path .. number)
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    "\nwick-bench requests=%d bytes=%d microseconds=%d errors=%d median=%d\n",
    summary.requests, summary.bytes, summary.duration,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50)))
end
