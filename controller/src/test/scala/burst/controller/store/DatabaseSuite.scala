package burst.controller.store

import burst.controller.metrics.DatabaseMetrics
import burst.node.metrics.MetricsRegistry
import com.zaxxer.hikari.{HikariConfig, HikariDataSource}
import java.lang.reflect.{InvocationTargetException, Proxy}
import java.sql.{Connection, Statement}
import org.sqlite.SQLiteDataSource
import scalikejdbc.*

/** Who owns a connection, and when it passes to another user. */
class DatabaseSuite extends munit.FunSuite:
  private val pools: FunFixture[Pool] = FunFixture(_ => Pool(), _.close())

  private def reading(database: Database)(work: => Any) = () => database.read("reading")(work)
  private def writing(database: Database)(work: => Any) = () => database.write("writing")(work)

  pools.test("a connection that was returned to its pool belongs to its next user alone"): pool =>
    Vector(reading(pool.database)(()), writing(pool.database)(())).foreach: use =>
      var next = Option.empty[(Connection, Statement)]
      pool.onReturn = () =>
        if next.isEmpty then
          val connection = pool.take()
          next = Some(connection -> connection.createStatement())
      val _ = use()
      val (connection, statement) = next.getOrElse(fail("the connection was not returned"))
      val own = statement.unwrap(classOf[Statement])
      assert(!own.isClosed)
      connection.close()
      assert(own.isClosed, "the pool lost track of its next user's statements")

  pools.test("a connection on which work failed is discarded before anybody else can get it"): pool =>
    def broken = throw IllegalStateException("broken")
    Vector(reading(pool.database)(broken), writing(pool.database)(broken)).foreach: use =>
      var returned = 0
      pool.onReturn = () => returned += 1
      val before = pool.evicted
      val _ = intercept[StoreException](use())
      assertEquals((returned, pool.evicted), (0, before + 1))

  pools.test("waits, work and failures are counted; a store's own refusal is not a failure"): pool =>
    reading(pool.database)(())()
    val _ = intercept[StoreException](writing(pool.database)(throw java.sql.SQLException("locked"))())
    val _ = intercept[StoreException](writing(pool.database)(throw IllegalStateException("no such"))())
    val shown = String(pool.metrics.text(), "UTF-8")
    for line <- Seq(
        """burst_database_seconds_count{access="read"} 1""",
        """burst_database_wait_seconds_count{access="write"} 2""",
        """burst_database_failures_total{access="read"} 0.0""",
        """burst_database_failures_total{access="write"} 1.0""",
        s"""burst_database_waiting{pool="${pool.getPoolName}"} 0.0"""
      )
    do assert(shown.linesIterator.contains(line), s"$line is not in\n$shown")

  pools.test("remembered values are dropped by a change, even one within another transaction"): pool =>
    val known = pool.database.remembered[String, Int](10)
    var reads = 0
    def read() = known("a"):
      reads += 1
      reads
    assertEquals((read(), read()), (1, 1))
    pool.database.write("of a flare")(())
    assertEquals(read(), 1)
    pool.database.change("of an entity")(())
    assertEquals(read(), 2)
    pool.database.write("of a flare")(pool.database.change("of an entity")(()))
    assertEquals(read(), 3)
    val _ = intercept[StoreException](pool.database.change("of an entity")(
      throw RuntimeException()
    ))
    assertEquals(read(), 4, "a failed transaction may have changed something")

/** A pool of one connection, which reports when that is returned and when it is discarded. */
private final class Pool(config: HikariConfig = Pool.ofOne) extends HikariDataSource(config):
  @volatile var onReturn: () => Unit = () => ()
  @volatile var evicted = 0

  val metrics: MetricsRegistry = MetricsRegistry()
  val database: Database =
    Database(
      this,
      this,
      (_, _) => (),
      SQLSyntax.empty,
      SQLSyntax.empty,
      oneWriter = true,
      Validity.UntilChanged(),
      DatabaseMetrics(metrics)
    )

  def take(): Connection = super.getConnection

  override def getConnection: Connection =
    val connection = take()
    val told = Proxy.newProxyInstance(
      getClass.getClassLoader,
      Array(classOf[Connection]),
      (_, method, arguments) =>
        if method.getName == "unwrap" then connection
        else
          try method.invoke(connection, Option(arguments).toSeq.flatten*)
          catch case failure: InvocationTargetException => throw failure.getCause
          finally if method.getName == "close" then onReturn()
    )
    told.asInstanceOf[Connection]

  override def evictConnection(connection: Connection): Unit =
    if !connection.isClosed then evicted += 1
    super.evictConnection(connection.unwrap(classOf[Connection]))

private object Pool:
  def ofOne: HikariConfig =
    val config = HikariConfig()
    val memory = SQLiteDataSource()
    memory.setUrl("jdbc:sqlite::memory:")
    config.setDataSource(memory)
    config.setMaximumPoolSize(1)
    config.setConnectionTimeout(60_000)
    config
