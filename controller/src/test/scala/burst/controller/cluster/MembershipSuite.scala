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

  /** Settings with which the second controller speaks these versions. */
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

  nodes(3).test("controllers that begin together found one cluster, whichever of them does"): nodes =>
    val all = nodes.systems.indices.map(nodes.begin(_))
    Await.result(Future.sequence(all.map(_.joined)), Soon)
    nodes.systems.foreach: system =>
      eventually(s"${members(system)} are ${nodes.seeds}")(members(system) == nodes.seeds.toSet)
    assert(!nodes.lock().tryExclusive())

  nodes(1).test("a silent member prevents another from founding a cluster until its lock is free"): nodes =>
    val silent = nodes.lock()
    assert(silent.tryShared())
    val asked = Counted(nodes.lock())
    val begun = nodes.begin(0, asked)
    eventually("it asks for the lock again")(asked.claims >= 2)
    assert(!begun.joined.isCompleted)
    assertEquals(members(nodes.systems(0)), Set.empty)
    silent.close()
    Await.result(begun.joined, Soon)
    assertEquals(asked.held(), Some(LockMode.Shared))

  nodes(1).test("the wait to join is limited, and the failure names what it waited for"): nodes =>
    val silent = nodes.lock()
    assert(silent.tryShared())
    val failure = Await.result(nodes.begin(0, joinTimeout = 500.millis).joined.failed, Soon)
    assert(failure.isInstanceOf[SetupException], failure)
    assert(failure.getMessage.contains("other controllers are members"), failure.getMessage)
    silent.close()

  nodes(1).test("a controller waits for a database that starts later"): nodes =>
    val late = Failing(nodes.lock(), Vector.fill(3)("08001"))
    Await.result(nodes.begin(0, late).joined, Soon)
    assertEquals(late.held(), Some(LockMode.Shared))

  nodes(1).test("the wait for a database that never starts is limited, and the failure names it"): nodes =>
    // Long enough to ask the database at least once.
    val away = Failing(nodes.lock(), Iterator.continually("08001"))
    val failure = Await.result(nodes.begin(0, away, joinTimeout = 3.seconds).joined.failed, Soon)
    assert(failure.isInstanceOf[StoreUnavailable], failure)

  Vector("28P01" -> "knows another password", "08004" -> "asks for one").foreach: (state, what) =>
    nodes(1).test(s"a database that refuses access over a password, as it $what, is asked once"): nodes =>
      val strict = Failing(nodes.lock(), Vector(state))
      val failure = Await.result(nodes.begin(0, strict).joined.failed, Soon)
      assert(failure.isInstanceOf[StoreUnavailable], failure)

  nodes(1).test("a member that loses its lock takes it again, and gives it up when it leaves"): nodes =>
    val lock = Losing(() => nodes.lock())
    val begun = nodes.begin(0, lock)
    Await.result(begun.joined, Soon)
    lock.lose()
    eventually("the lock is held again")(lock.held().contains(LockMode.Shared))
    val cluster = Cluster(nodes.systems(0))
    cluster.manager ! Leave(cluster.selfMember.address)
    Await.result(begun.removed, Soon)
    val next = nodes.lock()
    eventually("the lock is free")(next.tryExclusive())
    next.close()

  nodes(1).test("a lock that arrives only after the member has left is given back"): nodes =>
    val lock = Losing(() => nodes.lock())
    val begun = nodes.begin(0, lock)
    Await.result(begun.joined, Soon)
    lock.slow = true
    lock.lose()
    eventually("it asks for the lock again")(lock.asked)
    val cluster = Cluster(nodes.systems(0))
    cluster.manager ! Leave(cluster.selfMember.address)
    Await.result(begun.removed, Soon)
    lock.answered.countDown()
    val next = nodes.lock()
    eventually("the lock is free")(next.tryExclusive())
    next.close()

  FunFixture[Nodes](_ => Nodes(2, speaking("900-901")), _.close()).test(
    "a controller without a common version is refused and told what to do"
  ): nodes =>
    Await.result(nodes.begin(0).joined, Soon)
    val failure = Await.result(nodes.begin(1).joined.failed, Soon)
    assertEquals(failure.getMessage, VersionCheck.Refusal)
    assertEquals(members(nodes.systems(0)), Set(nodes.seeds(0)))

  FunFixture[Nodes](_ => Nodes(2, speaking(s"1-${Protocol.Nodes.oldest}")), _.close()).test(
    "a controller of another release with a common version is admitted"
  ): nodes =>
    Await.result(Future.sequence(Vector(0, 1).map(nodes.begin(_).joined)), Soon): Unit
    eventually("both are members")(members(nodes.systems(0)) == nodes.seeds.toSet)

  test("a controller with its own database is alone and founds a cluster immediately"):
    val nodes = Nodes(1)
    try Await.result(nodes.begin(0, UncontendedLock).joined, Soon)
    finally nodes.close()

  /** Can lose its lock as if its session had broken. Once `slow`, it gives shares only when the test allows
    * it.
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

  /** Counts the attempts to take the lock exclusively. */
  private final class Counted(lock: SharedLock) extends SharedLock:
    @volatile var claims = 0
    def held(): Option[LockMode] = lock.held()
    def tryExclusive(): Boolean =
      claims += 1
      lock.tryExclusive()
    def tryShared(): Boolean = lock.tryShared()
    def close(): Unit = lock.close()
