package burst.controller.invokers

import burst.controller.blob.PackageSource
import burst.controller.scheduler.{GangScheduler, InvokerLoss}
import burst.protocol.*
import com.typesafe.config.ConfigFactory
import munit.FunSuite
import org.apache.pekko.actor.testkit.typed.scaladsl.{ActorTestKit, ManualTime, TestProbe}
import org.apache.pekko.actor.typed.ActorRef
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.DurationInt

class InvokerRegistrySuite extends FunSuite:
  private val kit = ActorTestKit(ManualTime.config.withFallback(ConfigFactory.load()))
  private val time = ManualTime()(using kit.system)
  override def afterAll(): Unit = kit.shutdownTestKit()

  private val content = Array.tabulate[Byte](2500)(i => (i % 100).toByte)
  private val packageId = PackageId.of(content)

  private object packages extends PackageSource:
    /** Whether the next read fails. */
    @volatile var breaks = false
    def size(id: PackageId): Option[Long] = Option.when(id == packageId)(content.length.toLong)
    def read(id: PackageId, offset: Long, length: Int): Option[Array[Byte]] =
      if breaks then
        breaks = false
        throw RuntimeException("disk")
      Option.when(id == packageId)(content.slice(offset.toInt, offset.toInt + length))

  private final class World:
    val scheduler: TestProbe[GangScheduler.Command] = kit.createTestProbe[GangScheduler.Command]()
    val registry: ActorRef[InvokerRegistry.Command] =
      kit.spawn(InvokerRegistry(
        scheduler.ref,
        packages,
        RegistrySettings(1000, 10.minutes),
        ExecutionContext.parasitic
      ))

    /** Returns once every message sent before has been handled. */
    def settle(): Unit =
      val probe = kit.createTestProbe[PackageReply]()
      registry ! PackageRequest(FetchPackage(packageId, 0), probe.ref)
      probe.receiveMessage()
      ()

    def lost(): (String, InvokerLoss) =
      val lost = scheduler.expectMessageType[GangScheduler.InvokerLost]
      (lost.id.value, lost.loss)

  private val status = InvokerStatus(InvokerId("a"), 4, 0.1, "process", 0, RuntimeInfo("x86_64", "2.36"))
  private def invoker() = kit.createTestProbe[InvokerRequest]()

  test("heartbeats are passed on, and a silent invoker is not lost because of that"):
    val world = World()
    val a = invoker()
    world.registry ! RegisterInvoker(status, a.ref)
    world.scheduler.expectMessage(GangScheduler.InvokerUp(status, a.ref))
    for load <- Vector(0.2, 0.3) do
      world.settle()
      time.timePasses(2.hours)
      world.registry ! Heartbeat(status.copy(cpuLoad = load))
      world.scheduler.expectMessage(GangScheduler.InvokerReported(status.copy(cpuLoad = load), a.ref))

  test("an invoker that unregisters is lost immediately, and forgotten unless it returns in time"):
    val world = World()
    val (a, b) = (invoker(), invoker())
    world.registry ! RegisterInvoker(status, a.ref)
    world.scheduler.expectMessage(GangScheduler.InvokerUp(status, a.ref))
    world.registry ! UnregisterInvoker(status.id, b.ref, "another's")
    world.registry ! UnregisterInvoker(status.id, a.ref, "it was stopped")
    assertEquals(world.lost(), ("a", InvokerLoss.Unregistered("it was stopped")))
    world.settle()
    time.timePasses(9.minutes)
    world.registry ! RegisterInvoker(status, b.ref)
    world.scheduler.expectMessage(GangScheduler.InvokerUp(status, b.ref))
    world.settle()
    time.timePasses(4.seconds)
    world.registry ! UnregisterInvoker(status.id, b.ref, "it was stopped")
    assertEquals(world.lost(), ("a", InvokerLoss.Unregistered("it was stopped")))
    world.settle()
    time.timePasses(10.minutes)
    world.scheduler.expectMessage(GangScheduler.InvokerForgotten(status.id))

  test("registering again with the same reference is a heartbeat"):
    val world = World()
    val a = invoker()
    world.registry ! RegisterInvoker(status, a.ref)
    world.registry ! RegisterInvoker(status, a.ref)
    world.scheduler.expectMessage(GangScheduler.InvokerUp(status, a.ref))
    world.scheduler.expectMessage(GangScheduler.InvokerReported(status, a.ref))

  test("a new reference is a restart: the old packs are lost before the new invoker is offered"):
    val world = World()
    val (before, after) = (invoker(), invoker())
    world.registry ! RegisterInvoker(status, before.ref)
    world.scheduler.expectMessageType[GangScheduler.InvokerUp]
    world.registry ! RegisterInvoker(status, after.ref)
    assertEquals(world.lost(), ("a", InvokerLoss.Restarted))
    world.scheduler.expectMessage(GangScheduler.InvokerUp(status, after.ref))
    before.stop()
    world.scheduler.expectNoMessage(50.millis)

  test("an invoker whose actor stops is lost immediately"):
    val world = World()
    val a = invoker()
    world.registry ! RegisterInvoker(status, a.ref)
    world.scheduler.expectMessageType[GangScheduler.InvokerUp]
    a.stop()
    assertEquals(world.lost(), ("a", InvokerLoss.ProcessEnded))
    world.registry ! Heartbeat(status)
    world.scheduler.expectNoMessage(50.millis)

  test("an invoker is lost if its own session reports so, not if another reference does"):
    val world = World()
    val (a, b) = (invoker(), invoker())
    world.registry ! RegisterInvoker(status, a.ref)
    world.scheduler.expectMessageType[GangScheduler.InvokerUp]
    world.registry ! InvokerRegistry.Lost(status.id, b.ref, InvokerLoss.Defect)
    world.registry ! InvokerRegistry.Lost(status.id, a.ref, InvokerLoss.Silent(30.seconds))
    assertEquals(world.lost(), ("a", InvokerLoss.Silent(30.seconds)))

  test("packages are sent in chunks"):
    val world = World()
    val probe = kit.createTestProbe[PackageReply]()
    val chunks = Vector(0, 1000, 2000, 2500).map { offset =>
      world.registry ! PackageRequest(FetchPackage(packageId, offset), probe.ref)
      probe.expectMessageType[PackageChunk]
    }
    assertEquals(chunks.map(_.bytes.length), Vector(1000, 1000, 500, 0))
    assertEquals(chunks.map(_.total).distinct, Vector(2500L))
    assertEquals(chunks.map(_.bytes).reduce(_ ++ _).toArray.toVector, content.toVector)

  test("missing packages and invalid offsets are reported as missing"):
    val world = World()
    val probe = kit.createTestProbe[PackageReply]()
    val other = PackageId.of(Array[Byte](9))
    world.registry ! PackageRequest(FetchPackage(other, 0), probe.ref)
    probe.expectMessage(PackageMissing(other))
    world.registry ! PackageRequest(FetchPackage(packageId, -1), probe.ref)
    probe.expectMessage(PackageMissing(packageId))

  test("a package that cannot be read once is not missing: the next request gets it"):
    val world = World()
    val probe = kit.createTestProbe[PackageReply]()
    packages.breaks = true
    world.registry ! PackageRequest(FetchPackage(packageId, 0), probe.ref)
    world.registry ! PackageRequest(FetchPackage(packageId, 1000), probe.ref)
    assertEquals(probe.expectMessageType[PackageChunk].offset, 1000L)
    assert(!packages.breaks)
    world.registry ! PackageRequest(FetchPackage(packageId, 0), probe.ref)
    assertEquals(probe.expectMessageType[PackageChunk].offset, 0L)
