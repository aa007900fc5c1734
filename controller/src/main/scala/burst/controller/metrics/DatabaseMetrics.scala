package burst.controller.metrics

import burst.node.metrics.{MetricsRegistry, Seconds}
import burst.node.metrics.Seconds.timing
import com.zaxxer.hikari.HikariDataSource
import io.prometheus.metrics.core.datapoints.{CounterDataPoint, DistributionDataPoint}
import java.sql.SQLException
import java.util.concurrent.CopyOnWriteArrayList
import scala.util.control.NonFatal

/** How a database does: what waits for its connections, how long it takes, what fails. */
final class DatabaseMetrics(registry: MetricsRegistry):
  import DatabaseMetrics.Access

  private val waits = registry.histogram(
    "burst_database_wait_seconds",
    "Waiting for a connection to the database.",
    Seconds.Short,
    "access"
  )
  private val work = registry.histogram(
    "burst_database_seconds",
    "Reading, or a transaction that writes, with its connection.",
    Seconds.Short,
    "access"
  )
  private val failures =
    registry.counter("burst_database_failures", "What the database, or the way to it, failed in.", "access")
  private val pools = CopyOnWriteArrayList[HikariDataSource]()

  registry.readGauge("burst_database_connections", "Connections to the database.", "pool", "state"):
    callback =>
      pools.forEach: pool =>
        Option(pool.getHikariPoolMXBean).foreach: now =>
          callback.call(now.getActiveConnections, pool.getPoolName, "active")
          callback.call(now.getIdleConnections, pool.getPoolName, "idle")
  registry.readGauge("burst_database_waiting", "Who waits for a connection to the database.", "pool"):
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
    /** Who asks for a connection. */
    def waiting[A](get: => A): A = waits.timing(get)

    /** Who has one. */
    def working[A](statements: => A): A = work.timing(statements)

    /** All of it. What a store says against a request is no failure of the database's. */
    def counted[A](all: => A): A =
      try all
      catch
        case NonFatal(failure) =>
          if isOfDatabase(failure) then failures.inc()
          throw failure

  private def isOfDatabase(failure: Throwable): Boolean =
    failure.isInstanceOf[SQLException] || failure.getCause.isInstanceOf[SQLException]
