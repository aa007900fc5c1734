package burst.invoker.pack

import burst.invoker.driver.NetworkAccess
import burst.protocol.*
import io.circe.Json
import io.circe.syntax.*
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import scala.jdk.CollectionConverters.*

/** What a pack may reach, and when. */
class PackAccessSuite extends munit.FunSuite:
  private lazy val kit = ActorTestKit()
  override def afterAll(): Unit = kit.shutdownTestKit()

  private val setup = FunFixture[PackSetup](_ => PackSetup(kit), _.runtime.close())

  setup.test("a pack has its flare's network before its program starts, and none while it is idle"): setup =>
    import setup.*
    val _ = begin(assignment.copy(egress = true, elsewhere = 1))
    givePackage()
    val pack = runtime.pack()
    val access =
      NetworkAccess(assignment.flareId, packs = 2, assignment.backend, egress = true, elsewhere = 1)
    assertEquals(driver.connected.asScala.toVector, Vector((driver.lastContainer.id, access)))
    pack.say(ready, setup.ended(reusable = true))
    assertEquals(driver.disconnected.asScala.toVector, Vector.empty)
    pack.end()
    assert(untilEnded()(1).reusable)
    assertEquals(driver.disconnected.asScala.toVector, Vector(driver.lastContainer.id))

  setup.test("a warm pack gets the network of the flare it is to run"): setup =>
    import setup.*
    val (pack, container) = warm()
    val _ = launch(Some(pack))
    val _ = runtime.pack()
    assertEquals(driver.connected.asScala.toVector.map(_(0)), Vector(container.id))

  setup.test("others are told where they find a pack, and it where it finds them"): setup =>
    import setup.*
    driver.published = endpoint => s"published $endpoint"
    driver.found = Right(endpoint => s"found $endpoint")
    val (actor, pack) = running()
    pack.say(ready)
    val told = controller.receiveMessage().events
    assertEquals(told, Vector(PackEvent.Ready(Some("published 10.0.0.1:4000"), 1)))
    actor ! PackActor.Start(assignment.flareId, Vector(Some("a:1"), None))
    val endpoints = Json.arr("found a:1".asJson, Json.Null)
    assertEquals(runtime.order(), ("start", Json.obj("endpoints" -> endpoints)))

  setup.test("a pack that cannot find the others is lost"): setup =>
    import setup.*
    driver.found = Left(Failure(FailureKind.StartFailed, "no way to them"))
    val (actor, pack) = running()
    pack.say(ready)
    controller.receiveMessage()
    actor ! PackActor.Start(assignment.flareId, Vector(Some("a:1"), Some("b:1")))
    assertEquals(endedBadly().message, "no way to them")

  setup.test("a program whose network cannot be had is not started"): setup =>
    import setup.*
    driver.connecting = Some(Failure(FailureKind.StartFailed, "no network"))
    val _ = launch()
    givePackage()
    val failure = endedBadly()
    assertEquals((failure.kind, failure.message), (FailureKind.StartFailed, "no network"))
    assertEquals(failure.operation, Some("create"))
    assertEquals(runtime.startedPrograms, 0)

  setup.test("a group's packs keep theirs from flare to flare"): setup =>
    import setup.*
    val group = resting()
    val (run, reports) = flare()
    group ! run
    val pack = runtime.pack()
    pack.say(ready, setup.ended(reusable = true))
    pack.end()
    assertEquals(reports.receiveMessage().flareId, run.assignment.flareId)
    assertEquals(driver.connected.asScala.toVector.map(_(1).flare), Vector(assignment.flareId))
    assertEquals(driver.disconnected.asScala.toVector, Vector.empty)

  setup.test("a group that begins on a warm pack gets its network before it is ready"): setup =>
    import setup.*
    val (pack, container) = warm()
    val holder = assignment.copy(attempt = 1, group = Some(GroupRole.Holder(1000)), timeLeft = 0)
    val _ = begin(holder, Supply.Warm(pack))
    assertEquals(
      controller.receiveMessage().events.map(_.getClass),
      Vector(PackEvent.Ready(None, 0).getClass)
    )
    val network = driver.connected.asScala.toVector.map((id, access) => (id, access.flare))
    assertEquals(network, Vector((container.id, holder.flareId)))
    assertEquals(runtime.startedPrograms, 0)
