package burst.controller.cluster

import burst.controller.store.{
  AdvisoryLock,
  LockMode,
  PostgresServer,
  SharedLock,
  StoreUnavailable,
  UncontendedLock
}
import burst.node.SetupException
import burst.protocol.Protocol
import com.typesafe.config.{Config, ConfigFactory}
import java.sql.SQLException
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit.SECONDS
import org.apache.pekko.actor.Address
import org.apache.pekko.actor.typed.ActorSystem
import org.apache.pekko.cluster.MemberStatus
import org.apache.pekko.cluster.typed.{Cluster, Leave}
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{Await, ExecutionContext, Future}

/** Controllers as actor systems in this JVM, on a real database. */
class MembershipSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private val Soon = 60.seconds
  private given ExecutionContext = ExecutionContext.global

  /** Controllers that know each other and share a database. */
  private final class Nodes(count: Int, more: Int => Config => Config = _ => identity) extends AutoCloseable:
    private val database = PostgresServer.shared.settings(PostgresServer.shared.createDatabase())
    val systems: Vector[ActorSystem[Nothing]] = Vector.tabulate(count)(index => ClusterNode(more(index)))
    val seeds: Vector[Address] = systems.map(Cluster(_).selfMember.address)

    def lock(): AdvisoryLock = AdvisoryLock(database, "burst-members")

    def begin(
        index: Int,
        lock: SharedLock = lock(),
        joinTimeout: FiniteDuration = 1.hour
    ): Membership =
      Membership.begin(seeds, lock, MembershipSettings(100.millis, joinTimeout))(using systems(index))

    override def close(): Unit =
      systems.foreach(_.terminate())
      systems.foreach(system => Await.ready(system.whenTerminated, Soon))

  /** Of which the second speaks those versions. */
  private def speaking(versions: String)(index: Int)(config: Config): Config =
    val own = VersionCheck.configured(config)
    if index == 0 then own
    else ConfigFactory.parseString(s"burst.cluster.versions = \"$versions\"").withFallback(own)

  private def nodes(count: Int) = FunFixture[Nodes](_ => Nodes(count), _.close())

  private def members(system: ActorSystem[?]): Set[Address] =
    Cluster(system).state.members.filter(_.status == MemberStatus.Up).map(_.address).toSet

  private def eventually(what: String)(holds: => Boolean): Unit =
    val deadline = Soon.fromNow
    while !holds do
      assert(deadline.hasTimeLeft(), what)
      Thread.`yield`()

  nodes(3).test("those that begin together found one cluster, whoever of them it is"): nodes =>
    val all = nodes.systems.indices.map(nodes.begin(_))
    Await.result(Future.sequence(all.map(_.joined)), Soon)
    nodes.systems.foreach: system =>
      eventually(s"${members(system)} are ${nodes.seeds}")(members(system) == nodes.seeds.toSet)
    assert(!nodes.lock().tryExclusive())

  nodes(1).test("a silent member keeps another from founding until it is gone"): nodes =>
    val silent = nodes.lock()
    assert(silent.tryShared())
    val asked = Counted(nodes.lock())
    val begun = nodes.begin(0, asked)
    eventually("it asks again")(asked.claims >= 2)
    assert(!begun.joined.isCompleted)
    assertEquals(members(nodes.systems(0)), Set.empty)
    silent.close()
    Await.result(begun.joined, Soon)
    assertEquals(asked.held(), Some(LockMode.Shared))

  nodes(1).test("it waits no longer than it may, and says what for"): nodes =>
    val silent = nodes.lock()
    assert(silent.tryShared())
    val failure = Await.result(nodes.begin(0, joinTimeout = 500.millis).joined.failed, Soon)
    assert(failure.isInstanceOf[SetupException], failure)
    assert(failure.getMessage.contains("other controllers are members"), failure.getMessage)
    silent.close()

  nodes(1).test("a database that begins later is waited for"): nodes =>
    val late = Failing(nodes.lock(), Vector.fill(3)("08001"))
    Await.result(nodes.begin(0, late).joined, Soon)
    assertEquals(late.held(), Some(LockMode.Shared))

  nodes(1).test("a database that never begins is waited for no longer than may be, and is what is told"):
    nodes =>
      // It is to have been asked once by then.
      val away = Failing(nodes.lock(), Iterator.continually("08001"))
      val failure = Await.result(nodes.begin(0, away, joinTimeout = 3.seconds).joined.failed, Soon)
      assert(failure.isInstanceOf[StoreUnavailable], failure)

  Vector("28P01" -> "knows another password", "08004" -> "asks for one").foreach: (state, what) =>
    nodes(1).test(s"one that does not let us in, as it $what, is not asked again"): nodes =>
      val strict = Failing(nodes.lock(), Vector(state))
      val failure = Await.result(nodes.begin(0, strict).joined.failed, Soon)
      assert(failure.isInstanceOf[StoreUnavailable], failure)

  nodes(1).test("whose hold is lost gets it again, and gives it up when it has left"): nodes =>
    val lock = Losing(() => nodes.lock())
    val begun = nodes.begin(0, lock)
    Await.result(begun.joined, Soon)
    lock.lose()
    eventually("it is held again")(lock.held().contains(LockMode.Shared))
    val cluster = Cluster(nodes.systems(0))
    cluster.manager ! Leave(cluster.selfMember.address)
    Await.result(begun.removed, Soon)
    val next = nodes.lock()
    eventually("it is free")(next.tryExclusive())
    next.close()

  nodes(1).test("what it is given only after it has left is given back"): nodes =>
    val lock = Losing(() => nodes.lock())
    val begun = nodes.begin(0, lock)
    Await.result(begun.joined, Soon)
    lock.slow = true
    lock.lose()
    eventually("it asks again")(lock.asked)
    val cluster = Cluster(nodes.systems(0))
    cluster.manager ! Leave(cluster.selfMember.address)
    Await.result(begun.removed, Soon)
    lock.answered.countDown()
    val next = nodes.lock()
    eventually("it is free")(next.tryExclusive())
    next.close()

  FunFixture[Nodes](_ => Nodes(2, speaking("900-901")), _.close()).test(
    "one with which the members have no version in common is not let in, and says what to do"
  ): nodes =>
    Await.result(nodes.begin(0).joined, Soon)
    val failure = Await.result(nodes.begin(1).joined.failed, Soon)
    assertEquals(failure.getMessage, VersionCheck.Refusal)
    assertEquals(members(nodes.systems(0)), Set(nodes.seeds(0)))

  FunFixture[Nodes](_ => Nodes(2, speaking(s"1-${Protocol.Nodes.oldest}")), _.close()).test(
    "one of another release with which a version is common is let in"
  ): nodes =>
    Await.result(Future.sequence(Vector(0, 1).map(nodes.begin(_).joined)), Soon): Unit
    eventually("both are members")(members(nodes.systems(0)) == nodes.seeds.toSet)

  test("one that has a database of its own is alone, and founds at once"):
    val nodes = Nodes(1)
    try Await.result(nodes.begin(0, UncontendedLock).joined, Soon)
    finally nodes.close()

  /** Can lose what it has, as if its session had broken, and gives shares only when it is told to, once it is
    * slow.
    */
  private final class Losing(make: () => SharedLock) extends SharedLock:
    @volatile private var lock = make()
    @volatile var slow = false
    @volatile var asked = false
    val answered = CountDownLatch(1)
    def lose(): Unit =
      val lost = lock
      lock = make()
      lost.close()
    def held(): Option[LockMode] = lock.held()
    def tryExclusive(): Boolean = lock.tryExclusive()
    def tryShared(): Boolean =
      if slow then
        asked = true
        answered.await(Soon.toSeconds, SECONDS)
      lock.tryShared()
    def close(): Unit = lock.close()

  /** Fails with these SQL states first. */
  private final class Failing(lock: SharedLock, states: IterableOnce[String]) extends SharedLock:
    private val failures = states.iterator
    def held(): Option[LockMode] = lock.held()
    def tryExclusive(): Boolean = failures.nextOption() match
      case Some(state) =>
        throw StoreUnavailable(PostgresServer.shared.settings("nowhere"), SQLException("refused", state))
      case None => lock.tryExclusive()
    def tryShared(): Boolean = lock.tryShared()
    def close(): Unit = lock.close()

  /** Counts how often somebody tried to take the whole. */
  private final class Counted(lock: SharedLock) extends SharedLock:
    @volatile var claims = 0
    def held(): Option[LockMode] = lock.held()
    def tryExclusive(): Boolean =
      claims += 1
      lock.tryExclusive()
    def tryShared(): Boolean = lock.tryShared()
    def close(): Unit = lock.close()
