package burst.controller.scheduler

import burst.controller.store.insert
import burst.controller.flare.FlareState
import burst.protocol.Timestamp
import scala.concurrent.duration.DurationInt

/** When a namespace is revoked, its flares end and it gets nothing more. */
class RevocationSuite extends SchedulerFixture:
  import GangScheduler.{EndNamespace, NamespaceEnded, Submitted}

  private def revoke(world: World, namespace: String): Unit =
    world.namespaces.gone += namespace
    world.ask[NamespaceEnded.type](EndNamespace(namespace, _)).expectMessage(NamespaceEnded)

  test("running and waiting flares of the namespace are cancelled with the reason, and no others"):
    val world = World()
    val a = world.invoker("a", 4)
    val other = world.submit(Samples.request(1, "other"))
    a.prepared()
    val running = world.submit(Samples.request(3, retries = 2))
    val pack = a.prepared()
    val (waits, behind) = (world.submit(Samples.request(4)), world.submit(Samples.request(3, "other")))
    val ends = Vector(running, waits).map(flare => world.await(flare.id))
    revoke(world, "guest")
    assertEquals(a.aborted().failure.message, "the namespace was revoked")
    a.end(pack)
    ends.foreach { end =>
      val flare = world.ended(end)
      assertEquals(flare.state, FlareState.Cancelled)
      assertEquals(flare.error.map(_.message), Some("the namespace was revoked"))
    }
    assertEquals(a.prepared().assignment.flareId, behind.id)
    world.await(other.id).expectNoMessage(50.millis)

  test("groups are closed, and the flares on them are cancelled"):
    val world = World()
    val a = world.invoker("a", 4)
    val group =
      world.submit(Samples.request(2).copy(group = Some(burst.protocol.GroupRole.Holder(60.seconds))))
    val packs = a.prepared()
    a.ready(packs)
    val member =
      world.submit(Samples.request(2).copy(group = Some(burst.protocol.GroupRole.Member(group.id))))
    val end = world.await(member.id)
    val run = a.prepared()
    revoke(world, "guest")
    Vector(a.aborted(), a.aborted())
    a.end(run)
    a.end(packs)
    assertEquals(world.ended(end).error.map(_.message), Some("the namespace was revoked"))

  test("a flare submitted during the revocation is refused until the namespace has a key again"):
    val world = World()
    world.invoker("a", 4)
    revoke(world, "guest")
    assertEquals(world.submitted(Samples.request(1)), Submitted.Refused(Refusal.NamespaceRevoked))
    assert(world.submitted(Samples.request(1, "other")).isInstanceOf[Submitted.Accepted])
    world.scheduler ! GangScheduler.ReopenNamespace("guest")
    assert(world.submitted(Samples.request(1)).isInstanceOf[Submitted.Accepted])

  test("a new scheduler ends the flares of a namespace that was revoked in the meantime"):
    val store = MemoryFlareStore()
    val queued = AdmissionControl.accept(Samples.request(1), Timestamp.ofMicros(5))
    store.insert(queued)
    val world = World(store, revoked = Set("guest"))
    val a = world.invoker("a", 1)
    assertEquals(world.submitted(Samples.request(1)), Submitted.Refused(Refusal.NamespaceRevoked))
    kit.createTestProbe[Any]().awaitAssert {
      val found = store.find(queued.id).flatMap(_.error).map(_.message)
      assertEquals(found, Some("the namespace was revoked"))
    }
    a.hearsNothing()
