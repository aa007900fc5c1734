package burst.controller.store

import burst.controller.metrics.DatabaseMetrics
import burst.node.{FullDisk, SetupException}
import burst.node.metrics.MetricsRegistry
import com.zaxxer.hikari.{HikariConfig, HikariDataSource}
import java.net.URI
import java.sql.{Connection, DriverManager, SQLException}
import java.util.{Properties, UUID}
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.util.{Try, Using}
import scala.util.control.NonFatal
import scalikejdbc.*

/** Where PostgreSQL is and who we are there. `toString` shows no password.
  *
  * @param url
  *   `postgresql://host:port,…/database?options`, without user and password
  * @param connections
  *   for statements
  * @param connectTimeout
  *   how long a call waits for a connection
  * @param statementTimeout
  *   how long a statement may take
  * @param idleTransaction
  *   how long a transaction may wait for its next statement: the rows of a process that stands still are not
  *   to be its own for as long; the same in all processes
  * @param memory
  *   how long what was read is remembered, and how much longer it takes to change it; the same in all
  *   processes, so nobody configures it
  */
final case class PostgresSettings(
    url: URI,
    user: String,
    password: String,
    connections: Int,
    connectTimeout: FiniteDuration,
    statementTimeout: FiniteDuration,
    idleTransaction: FiniteDuration = 5.seconds,
    memory: FiniteDuration = 50.millis
):
  override def toString: String = s"$user at $url"

/** A database that several controllers share.
  *
  * A server that dies or does not answer makes the calls of the time fail, each within `connectTimeout` and
  * `statementTimeout` together; the pool leaves dead connections behind and makes new ones as soon as it can.
  */
object PostgresDatabase:
  /** What the server knows those sessions of this process by that hold locks. */
  private[store] val OwnSessions: String = s"burst-${UUID.randomUUID()}"

  /** Throws [[StoreUnavailable]] when the server cannot be reached or does not let us in, `SetupException`
    * when what is there is not for this release.
    */
  def open(
      settings: PostgresSettings,
      metrics: DatabaseMetrics = DatabaseMetrics(MetricsRegistry())
  ): Database =
    try
      // A pool would go on trying, whatever it is told.
      Try(session(settings).close()).failed
        .map(StoreUnavailable(settings, _))
        .filter(!_.mayPass)
        .foreach(throw _)
      // While one of its connections works another holds a lock, and stands still for as long.
      // Controllers that start together migrate one after the other: Flyway takes a lock for it.
      Using.resource(migrating(settings)): source =>
        Migrations(source, "db/migration/postgresql").migrate(others = AdvisoryLock.members(settings))
      val bounded = s"-c idle_in_transaction_session_timeout=${settings.idleTransaction.toMillis}"
      val main = pool("burst-store", settings, settings.connections, driverProperties(settings), bounded)
      // The server flushes every commit, unless its operator wants otherwise.
      Database(
        main,
        main,
        (_, _) => (),
        rowLock = sqls"FOR UPDATE",
        sharedLock = sqls"FOR SHARE",
        oneWriter = false,
        Validity.TimeToLive(settings.memory),
        metrics,
        // The server's. Asked for once in a statement, which may then use an index.
        () => sqls"(SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT))"
      )
    catch
      case setup: SetupException => throw setup
      case NonFatal(cause) => throw StoreUnavailable(settings, root(cause))

  /** A connection that the server soon takes for dead when nothing comes from its other end. Throws
    * `SQLException`.
    */
  private[store] def session(settings: PostgresSettings): Connection =
    val properties = Properties()
    properties.setProperty("user", settings.user)
    properties.setProperty("password", settings.password)
    driverProperties(settings).foreach(properties.setProperty(_, _))
    properties.setProperty("ApplicationName", OwnSessions)
    properties.merge("options", SoonMissed, (own, more) => s"$own $more")
    DriverManager.getConnection(s"jdbc:${settings.url}", properties)

  /** For a server that is to know soon when a machine has vanished: it is asked after when idle, and what was
    * sent to it is given up after the same time.
    */
  private val SoonMissed =
    "-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 " +
      "-c tcp_user_timeout=20000"

  /** Connections without a statement time-out: an index of a large table takes as long as it takes. Whoever
    * vanishes meanwhile is soon without Flyway's lock.
    */
  private[store] def migrating(settings: PostgresSettings): HikariDataSource =
    val properties = driverProperties(settings) - "socketTimeout"
    pool("burst-store-migration", settings, 3, properties, s"-c statement_timeout=0 $SoonMissed")

  /** What both ends do for the first time takes longer than a connection later, and nobody waits for it yet.
    */
  private val StartPatience = 4

  private def pool(
      name: String,
      settings: PostgresSettings,
      size: Int,
      properties: Map[String, String],
      options: String
  ): HikariDataSource =
    val config = HikariConfig()
    config.setPoolName(name)
    config.setJdbcUrl(s"jdbc:${settings.url}")
    config.setUsername(settings.user)
    config.setPassword(settings.password)
    config.setMaximumPoolSize(size)
    config.setMinimumIdle(1)
    config.setConnectionTimeout(settings.connectTimeout.toMillis)
    config.setValidationTimeout(settings.connectTimeout.toMillis)
    config.setInitializationFailTimeout((settings.connectTimeout * StartPatience).toMillis)
    properties.foreach(config.addDataSourceProperty(_, _))
    config.getDataSourceProperties.merge("options", options, (own, more) => s"$own $more")
    HikariDataSource(config)

  private def driverProperties(settings: PostgresSettings): Map[String, String] =
    val connectTimeout = settings.connectTimeout.toSeconds.max(1)
    // Those that are named are tried one after the other.
    val hosts = settings.url.getRawAuthority.split(',').length
    Map(
      "options" -> s"-c statement_timeout=${settings.statementTimeout.toMillis}",
      // The server ends its statement first, when it still can.
      "socketTimeout" -> (settings.statementTimeout + 5.seconds).toSeconds.toString,
      "connectTimeout" -> (connectTimeout / hosts).max(1).toString,
      "loginTimeout" -> connectTimeout.toString,
      "tcpKeepAlive" -> "true",
      "ApplicationName" -> "burst",
      // A batch of rows is one statement and one round trip.
      "reWriteBatchedInserts" -> "true",
      // What a statement carried, users' inputs among it, would be in the words of its failure, and in the log.
      "logServerErrorDetail" -> "false"
    )

  private def root(cause: Throwable): Throwable =
    Iterator.iterate(cause)(_.getCause).takeWhile(_ != null).toVector.last

/** The configured database cannot be used. */
final class StoreUnavailable(settings: PostgresSettings, cause: Throwable)
    extends SetupException(
      s"the database ($settings) cannot be used: ${Option(cause.getMessage).getOrElse(cause.toString).trim}",
      cause
    ):
  /** Whether that may be over by itself: it is not reached or not yet there, or busy. A controller that is
    * refused needs another password.
    */
  def mayPass: Boolean =
    import StoreUnavailable.*
    FullDisk
      .causes(cause)
      .collectFirst { case failure: SQLException => failure.getSQLState }
      .forall(state => state == null || state != Rejected && Passing.exists(state.startsWith))

object StoreUnavailable:
  /** `connection_exception` and its kind, a server that begins or ends, `too_many_connections`. */
  private val Passing = Vector("08", "57P", "53300")

  /** The driver says so where it is asked for a password and has none. */
  private val Rejected = "08004"
