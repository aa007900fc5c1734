package burst.invoker.metrics

import burst.node.metrics.MetricsRegistry

/** The metrics of the packages on a machine. */
final class PackageMetrics(registry: MetricsRegistry):
  private val cached = registry.gauge("burst_invoker_packages", "Packages cached on this machine.")
  private val bytes =
    registry.gauge("burst_invoker_package_bytes", "Bytes that cached packages take on disk.")
  private val requests =
    registry.counter("burst_invoker_package_requests", "Package requests of packs, by outcome.", "outcome")
  private val hits = requests.labelValues("hit")
  private val fetches = requests.labelValues("fetched")
  private val failures = requests.labelValues("failed")

  /** The package was in the cache. */
  def hit(): Unit = hits.inc()

  /** This many packs waited for it to be fetched. */
  def fetched(count: Int, succeeded: Boolean): Unit = (if succeeded then fetches else failures).inc(count)

  def holds(packages: Int, bytes: Long): Unit =
    cached.set(packages)
    this.bytes.set(bytes.toDouble)
