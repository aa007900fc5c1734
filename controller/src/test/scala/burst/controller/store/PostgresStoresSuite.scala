package burst.controller.store

import burst.controller.flare.FlareState
import burst.controller.store.Samples.*
import burst.node.SetupException
import burst.protocol.{FlareId, InvokerId, Timestamp}
import io.circe.JsonObject
import java.net.{InetAddress, ServerSocket}
import java.nio.channels.SocketChannel
import java.nio.file.{Files, Path}
import java.util.concurrent.CountDownLatch
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration.{Duration, DurationInt}
import scala.concurrent.{blocking, Await, Future}
import scala.util.{Try, Using}
import scalikejdbc.*

/** Storages on a database of their own. */
trait PostgresStorage extends StorageFixtures:
  def isShared: Boolean = true
  def opener(root: Path): () => Storage =
    val postgres = PostgresServer.shared.settings(PostgresServer.shared.migratedDatabase())
    () => Storage.open(settings(root, Some(postgres)), limits)

class PostgresDefinitionStoreSuite extends DefinitionStoreContract, PostgresStorage
class PostgresActivationStoreSuite extends ActivationStoreContract, PostgresStorage
class PostgresFlareStoreSuite extends FlareStoreContract, PostgresStorage
class PostgresSubmissionSuite extends SubmissionStoreContract, PostgresStorage
class PostgresSharedChangesSuite extends SharedChangesContract, PostgresStorage
class PostgresActionPackageStoreSuite extends ActionPackageStoreContract, PostgresStorage
class PostgresNamespaceStoreSuite extends NamespaceStoreContract, PostgresStorage
class PostgresTriggerStoreSuite extends TriggerStoreContract, PostgresStorage
class PostgresAlarmStoreSuite extends AlarmStoreContract, PostgresStorage

/** What only PostgreSQL does. */
class PostgresStoresSuite extends StorageFixtures, PostgresStorage:
  private val server = FunFixture[PostgresServer](_ => PostgresServer.fresh(), _.close())

  directory.test("no controller remembers an old key or definition once another's change has returned"):
    root =>
      val open = opener(root)
      val (changing, reading) = (open(), open())
      try
        for tenant <- Vector.tabulate(20)(turn => s"tenant$turn") do
          def found() = reading.definitions.find(tenant, "hello")
          assertEquals(found(), None)
          put(changing, definition(namespace = tenant))
          assert(found().isDefined)
          changing.definitions.delete(tenant, "hello")
          assertEquals(found(), None)
          val Array(uuid, key) = changing.namespaces.create(tenant).get.split(":", 2): @unchecked
          assert(reading.namespaces.authenticate(uuid, key).isDefined)
          changing.namespaces.revoke(tenant)
          assertEquals(reading.namespaces.authenticate(uuid, key), None)
      finally
        changing.close()
        reading.close()

  FunFixture.map2(directory, server).test(
    "a killed server fails calls by a deadline, loses nothing that was confirmed, and is used again later"
  ): (root, server) =>
    val database = server.createDatabase()
    val storage = hasty(root, server, database)
    try
      val kept, doubtful = flare()
      patiently(root, server, database)(keepPackages)
      eventually(storage.flares.insert(kept))
      eventually(storage.flares.insert(doubtful))
      server.kill()
      val failure = intercept[StoreException](storage.flares.update(grown(kept, FlareState.Running)))
      assertEquals(failure.operation, "storing a flare")
      intercept[StoreException](storage.namespaces.authenticate("uuid", "key"))
      server.start()
      // Connections that died with it may each still be handed out once.
      eventually(storage.flares.update(grown(kept, FlareState.Running)))
      assertEquals(eventually(storage.flares.find(kept.id)).map(_.state), Some(FlareState.Running))
      assertEquals(
        eventually(storage.flares.takeUnfinished()).map(f => f.id -> f.state).toSet,
        Set(kept.id -> FlareState.Running, doubtful.id -> FlareState.Queued)
      )
    finally storage.close()

  FunFixture.map2(directory, directory).test(
    "a controller that would keep the packages of a shared database elsewhere is refused"
  ): (one, two) =>
    val postgres = PostgresServer.shared.settings(PostgresServer.shared.createDatabase())
    def open(root: Path) = Storage.open(settings(root, Some(postgres)), limits)
    val first = open(one)
    val former =
      Files.createDirectories(two.resolve("outputs").resolve(burst.protocol.FlareId.random().value))
    Files.writeString(former.resolve("0"), "theirs")
    try
      val told = intercept[SetupException](open(two)).getMessage
      assert(told.contains(s"$one/packages") && told.contains(s"$two/packages"), told)
      assert(told.contains("burst.store.s3.url"), told)
      assert(Files.exists(former.resolve("0")), "nothing is touched")
      // The same packages under another name are accepted.
      val mounted = Files.createSymbolicLink(two.resolve("mounted"), one)
      open(mounted).close()
    finally first.close()
    // Packages that were moved are recognized.
    Files.walk(two.resolve("packages")).sorted(java.util.Comparator.reverseOrder).forEach(Files.delete(_))
    Files.move(one.resolve("packages"), two.resolve("packages"))
    open(two).close()
  server.test("a transaction whose connection is cut does not affect later ones"): server =>
    val settings = server.settings(server.createDatabase())
    val database = PostgresDatabase.open(settings)
    try
      intercept[StoreException]:
        database.write("being cut"):
          sql"INSERT INTO scheduler_epoch (id, epoch) VALUES (1, 7)".update()
          server.cutConnections()
      (1 to 20).foreach(_ => Try(JdbcEpochStore(database).next()))
      assertEquals(JdbcEpochStore(database).present(), JdbcEpochStore(database).next() - 1)
    finally database.close()

  server.test("a transaction that stalls does not block its rows for others"): server =>
    val settings = server.settings(server.createDatabase())
    val still = PostgresDatabase.open(settings.copy(idleTransaction = 15.seconds))
    val other = PostgresDatabase.open(settings.copy(statementTimeout = 60.seconds))
    try
      assertEquals(JdbcEpochStore(still).next(), 1L)
      val (held, done) = (CountDownLatch(1), CountDownLatch(1))
      val standing = Future(blocking(still.write("standing still"):
        val _ = sql"SELECT epoch FROM scheduler_epoch FOR SHARE".map(_.long(1)).single()
        held.countDown()
        done.await()))
      held.await()
      assertEquals(JdbcEpochStore(other).next(), 2L)
      done.countDown()
      Await.ready(standing, 1.minute)
      assert(standing.value.exists(_.isFailure), "the stalled transaction was ended")
      assertEquals(JdbcEpochStore(still).next(), 3L)
    finally Seq(still, other).foreach(_.close())

  FunFixture.map2(
    directory,
    server
  ).test("flares announced as stored are not lost when the server is killed"): (root, server) =>
    val database = server.createDatabase()
    val storage = hasty(root, server, database)
    @volatile var killed = false
    try
      patiently(root, server, database)(keepPackages)
      val announced = java.util.concurrent.ConcurrentLinkedQueue[burst.protocol.FlareId]()
      val writers = Vector.fill(4)(Thread: () =>
        // Until the first failure after the kill: on a busy machine an insert may fail before it.
        val stored = Iterator
          .continually(flare())
          .map(f => Try(storage.flares.insert(f)).map(_ => f.id))
          .takeWhile(_.isSuccess || !killed)
        stored.flatMap(_.toOption).foreach(announced.add(_)))
      writers.foreach(_.start())
      val deadline = 2.minutes.fromNow
      while announced.size < 50 do
        assert(deadline.hasTimeLeft() && writers.forall(_.isAlive), s"${announced.size} were announced")
        Thread.`yield`()
      killed = true
      server.kill()
      writers.foreach(_.join(60000))
      assert(!writers.exists(_.isAlive))
      server.start()
      val found = eventually(storage.flares.takeUnfinished()).map(_.id).toSet
      announced.forEach(id => assert(found(id), s"$id was announced but not stored"))
    finally
      killed = true
      storage.close()

  directory.test("a failure to reach or enter the server names its address, and not the password"): root =>
    val good = PostgresServer.shared.settings(PostgresServer.shared.createDatabase(), 20.seconds)
    Vector(
      good.copy(password = "wrong-password") -> false,
      // A server that does not answer is tried several times within the timeout.
      good.copy(url = java.net.URI("postgresql://127.0.0.1:1/burst"), connectTimeout = 1.second) -> true,
      PostgresServer.shared.settings("nowhere", 20.seconds) -> false
    ).foreach: (settings, mayPass) =>
      val failure = intercept[StoreUnavailable](Storage.open(this.settings(root, Some(settings)), limits))
      assert(failure.getMessage.contains(settings.url.toString), failure.getMessage)
      assert(!failure.getMessage.contains(settings.password), failure.getMessage)
      assert(!settings.toString.contains(settings.password))
      assertEquals(failure.mayPass, mayPass, failure)
    val without = Try(PostgresDatabase.open(good.copy(password = ""))).failed.get
    assert(!without.asInstanceOf[StoreUnavailable].mayPass, without)

  test("leases follow the server's clock, whatever this machine's clock says"):
    val settings = PostgresServer.shared.settings(PostgresServer.shared.createDatabase())
    PostgresDatabase.open(settings).close()
    Using.resource(PostgresDatabase.session(settings)): session =>
      Using.resource(session.createStatement): statement =>
        statement.execute(
          """CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
            $$SELECT pg_catalog.clock_timestamp() + interval '1 hour'$$"""
        )
        statement.execute(
          s"ALTER DATABASE ${settings.url.getPath.drop(1)} SET search_path = public, pg_catalog"
        )
    val database = PostgresDatabase.open(settings)
    try
      val activations = JdbcActivationStore(database, SubmissionKeys(1.day))
      val record = OpenRecord(FlareId.random(), "guest", "both", Timestamp.ofMicros(1000), JsonObject.empty)
      def minutesLeft = database.read("reading a lease"):
        (sql"SELECT lease FROM flare".count - System.currentTimeMillis() * 1000) / 60_000_000
      activations.open(record, 30.minutes)
      assert(minutesLeft > 80, minutesLeft)
      activations.renew(Vector(record.id), 10.minutes)
      assert(minutesLeft > 60 && minutesLeft < 80, minutesLeft)
      assertEquals(activations.endAbandoned(Duration.Zero, Timestamp.ofMicros(2000)), 0)
      activations.renew(Vector(record.id), -1.second)
      assertEquals(activations.endAbandoned(Duration.Zero, Timestamp.ofMicros(2000)), 1)
    finally database.close()

  directory.test("of several hosts the primary is used, even if the first is down or does not answer"):
    root =>
      val good = PostgresServer.shared.settings(PostgresServer.shared.createDatabase(), 20.seconds)
      // Connections beyond the backlog are not answered.
      val silent = ServerSocket(0, 1, InetAddress.getLoopbackAddress)
      val waiting = Vector.fill(4)(SocketChannel.open())
      try
        waiting.foreach: channel =>
          channel.configureBlocking(false)
          channel.connect(silent.getLocalSocketAddress)
        for first <- Vector("127.0.0.1:1", s"127.0.0.1:${silent.getLocalPort}") do
          val path = s"$first,${good.url.getRawAuthority}${good.url.getPath}?targetServerType=primary"
          val several = good.copy(url = java.net.URI(s"postgresql://$path"))
          Storage.open(this.settings(root, Some(several)), limits).close()
      finally
        waiting.foreach(_.close())
        silent.close()

  sharing.test("epochs only increase, whoever asks for them"): (one, other) =>
    assertEquals(one.epochs.present(), 0L)
    assertEquals(Vector(one, other, one).map(_.epochs.next()), Vector(1L, 2L, 3L))
    assertEquals(other.epochs.present(), 3L)

  sharing.test("drained machines are known to all controllers until they are resumed"): (one, other) =>
    Seq("a", "b", "a").foreach(id => one.drained.add(InvokerId(id)))
    assertEquals(other.drained.all(), Set("a", "b").map(InvokerId(_)))
    Seq("a", "a").foreach(id => other.drained.remove(InvokerId(id)))
    assertEquals(one.drained.all(), Set(InvokerId("b")))

  directory.test("controllers that start at the same time on an empty database all come up"): root =>
    val postgres = PostgresServer.shared.settings(PostgresServer.shared.createDatabase())
    val opened = java.util.concurrent.ConcurrentLinkedQueue[Try[Storage]]()
    val starts = Vector.fill(3)(Thread: () =>
      opened.add(Try(Storage.open(this.settings(root, Some(postgres)), limits)))
      ())
    starts.foreach(_.start())
    starts.foreach(_.join())
    opened.forEach(_.get.close())

  /** A storage whose calls do not wait long for a server that is down or slow: on a busy machine one may
    * fail.
    */
  private def hasty(root: Path, server: PostgresServer, database: String): Storage =
    val settings = server.settings(database, connectTimeout = 1.second)
    eventually(Storage.open(this.settings(root, Some(settings)), limits))

  /** Runs the work that comes before the server is killed, with a long timeout. */
  private def patiently(root: Path, server: PostgresServer, database: String)(work: Storage => Unit): Unit =
    val settings = server.settings(database, connectTimeout = 20.seconds)
    val storage = Storage.open(this.settings(root, Some(settings)), limits)
    try work(storage)
    finally storage.close()

  /** Repeats work that may fail: the pool finds dead connections one by one, each at the cost of one failure.
    */
  private def eventually[A](work: => A): A =
    Iterator.continually(Try(work)).take(20).find(_.isSuccess).getOrElse(Try(work)).get
