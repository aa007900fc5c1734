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

/** The address of PostgreSQL, and the user. `toString` shows no password.
  *
  * @param url
  *   `postgresql://host:port,…/database?options`, without user and password
  * @param connections
  *   how many connections run statements
  * @param connectTimeout
  *   how long a call waits for a connection
  * @param statementTimeout
  *   how long a statement may take
  * @param idleTransaction
  *   how long a transaction may wait for its next statement, so that a process that hangs does not keep its
  *   row locks for long; the same in all processes
  * @param memory
  *   how long values are cached, and how much longer it takes to change them; the same in all processes, so
  *   nobody configures it
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
  * If a server dies or does not answer, the calls made meanwhile fail, each within `connectTimeout` and
  * `statementTimeout` together; the pool drops dead connections and makes new ones as soon as it can.
  */
object PostgresDatabase:
  /** The application name by which the server knows those sessions of this process that hold locks. */
  private[store] val OwnSessions: String = s"burst-${UUID.randomUUID()}"

  /** Opens and migrates the database. Throws [[StoreUnavailable]] if the server cannot be reached or refuses
    * the login, `SetupException` if the database is not for this release.
    */
  def open(
      settings: PostgresSettings,
      metrics: DatabaseMetrics = DatabaseMetrics(MetricsRegistry())
  ): Database =
    try
      // A pool would keep trying, even after a refusal.
      Try(session(settings).close()).failed
        .map(StoreUnavailable(settings, _))
        .filter(!_.mayPass)
        .foreach(throw _)
      // While one of Flyway's connections works, another holds a lock and is idle for as long. Controllers
      // that start together migrate one after the other: Flyway takes a lock for it.
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
        // The server's clock. A subquery is evaluated once per statement, which can then use an index.
        () => sqls"(SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT))"
      )
    catch
      case setup: SetupException => throw setup
      case NonFatal(cause) => throw StoreUnavailable(settings, root(cause))

  /** Opens a connection that the server soon considers dead if its peer vanishes. Throws `SQLException`. */
  private[store] def session(settings: PostgresSettings): Connection =
    val properties = Properties()
    properties.setProperty("user", settings.user)
    properties.setProperty("password", settings.password)
    driverProperties(settings).foreach(properties.setProperty(_, _))
    properties.setProperty("ApplicationName", OwnSessions)
    properties.merge("options", SoonMissed, (own, more) => s"$own $more")
    DriverManager.getConnection(s"jdbc:${settings.url}", properties)

  /** Options that make the server notice soon that a machine has vanished: it probes an idle connection, and
    * gives up on unacknowledged data after the same time.
    */
  private val SoonMissed =
    "-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 " +
      "-c tcp_user_timeout=20000"

  /** Opens connections without a statement timeout, as indexing a large table takes as long as it takes. A
    * controller that vanishes meanwhile soon loses Flyway's lock.
    */
  private[store] def migrating(settings: PostgresSettings): HikariDataSource =
    val properties = driverProperties(settings) - "socketTimeout"
    pool("burst-store-migration", settings, 3, properties, s"-c statement_timeout=0 $SoonMissed")

  /** How many times `connectTimeout` the first connection may take: both ends still initialise, and nobody
    * waits for it yet.
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
    // The named hosts are tried one after the other.
    val hosts = settings.url.getRawAuthority.split(',').length
    Map(
      "options" -> s"-c statement_timeout=${settings.statementTimeout.toMillis}",
      // The server ends its statement first, if it still can.
      "socketTimeout" -> (settings.statementTimeout + 5.seconds).toSeconds.toString,
      "connectTimeout" -> (connectTimeout / hosts).max(1).toString,
      "loginTimeout" -> connectTimeout.toString,
      "tcpKeepAlive" -> "true",
      "ApplicationName" -> "burst",
      // A batch of rows is one statement and one round trip.
      "reWriteBatchedInserts" -> "true",
      // Otherwise error messages, and so the log, would contain the statement's values, users' inputs among
      // them.
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
  /** Whether the failure may pass by itself: the server is unreachable, still starting, or busy. A controller
    * that is refused needs another password.
    */
  def mayPass: Boolean =
    import StoreUnavailable.*
    FullDisk
      .causes(cause)
      .collectFirst { case failure: SQLException => failure.getSQLState }
      .forall(state => state == null || state != Rejected && Passing.exists(state.startsWith))

object StoreUnavailable:
  /** `connection_exception` and its subclasses, a server that starts or stops, `too_many_connections`. */
  private val Passing = Vector("08", "57P", "53300")

  /** The driver's error if the server asks for a password and none is configured. */
  private val Rejected = "08004"
