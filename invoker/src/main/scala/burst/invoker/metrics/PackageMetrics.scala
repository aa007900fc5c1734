package burst.invoker.metrics

import burst.node.metrics.MetricsRegistry

/** What is counted of the packages on a machine. */
final class PackageMetrics(registry: MetricsRegistry):
  private val kept = registry.gauge("burst_invoker_packages", "Packages on this machine.")
  private val bytes = registry.gauge("burst_invoker_package_bytes", "What they take on its disk.")
  private val requests =
    registry.counter("burst_invoker_package_requests", "Packs that wanted a package, by outcome.", "outcome")
  private val hits = requests.labelValues("hit")
  private val fetches = requests.labelValues("fetched")
  private val failures = requests.labelValues("failed")

  /** It was there. */
  def hit(): Unit = hits.inc()

  /** So many waited for it to be fetched. */
  def fetched(askers: Int, well: Boolean): Unit = (if well then fetches else failures).inc(askers)

  def holds(packages: Int, bytes: Long): Unit =
    kept.set(packages)
    this.bytes.set(bytes.toDouble)
