package burst.controller.metrics

import burst.node.metrics.{MetricsRegistry, Seconds}
import burst.node.metrics.Seconds.timing
import com.zaxxer.hikari.HikariDataSource
import io.prometheus.metrics.core.datapoints.{CounterDataPoint, DistributionDataPoint}
import java.sql.SQLException
import java.util.concurrent.CopyOnWriteArrayList
import scala.util.control.NonFatal

/** Metrics of a database: waits for its connections, the time it takes, and failures. */
final class DatabaseMetrics(registry: MetricsRegistry):
  import DatabaseMetrics.Access

  private val waits = registry.histogram(
    "burst_database_wait_seconds",
    "Time spent waiting for a database connection.",
    Seconds.Short,
    "access"
  )
  private val work = registry.histogram(
    "burst_database_seconds",
    "Time of a read or a write transaction, once it has a connection.",
    Seconds.Short,
    "access"
  )
  private val failures =
    registry.counter(
      "burst_database_failures",
      "Failed database accesses, lost connections included.",
      "access"
    )
  private val pools = CopyOnWriteArrayList[HikariDataSource]()

  registry.readGauge("burst_database_connections", "Connections to the database.", "pool", "state"):
    callback =>
      pools.forEach: pool =>
        Option(pool.getHikariPoolMXBean).foreach: now =>
          callback.call(now.getActiveConnections, pool.getPoolName, "active")
          callback.call(now.getIdleConnections, pool.getPoolName, "idle")
  registry.readGauge("burst_database_waiting", "Callers that wait for a database connection.", "pool"):
    callback =>
      pools.forEach: pool =>
        Option(pool.getHikariPoolMXBean).foreach: now =>
          callback.call(now.getThreadsAwaitingConnection, pool.getPoolName)

  val reads: Access = access("read")
  val writes: Access = access("write")

  def watch(pool: HikariDataSource): Unit = pools.addIfAbsent(pool): Unit

  private def access(name: String) =
    Access(waits.labelValues(name), work.labelValues(name), failures.labelValues(name))

object DatabaseMetrics:
  final class Access private[DatabaseMetrics] (
      waits: DistributionDataPoint,
      work: DistributionDataPoint,
      failures: CounterDataPoint
  ):
    /** Measures the wait for a connection. */
    def waiting[A](get: => A): A = waits.timing(get)

    /** Measures the work with a connection. */
    def working[A](statements: => A): A = work.timing(statements)

    /** Counts failures of the whole access. A store's refusal of a request is not a failure of the database.
      */
    def counted[A](all: => A): A =
      try all
      catch
        case NonFatal(failure) =>
          if isOfDatabase(failure) then failures.inc()
          throw failure

  private def isOfDatabase(failure: Throwable): Boolean =
    failure.isInstanceOf[SQLException] || failure.getCause.isInstanceOf[SQLException]
