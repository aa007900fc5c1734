package burst.invoker.driver
package sandbox

import burst.invoker.pack.{FakePack, PackSetup}
import burst.invoker.Invoker
import burst.node.ServerAddress
import burst.protocol.*
import java.util.concurrent.Executors
import org.apache.pekko.actor.testkit.typed.scaladsl.{ActorTestKit, TestProbe}
import org.apache.pekko.actor.typed.ActorRef
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext}

/** Flares without network access that arrive while the shim of a warm pack still closes the previous one's
  * connections; the shim receives no order for such flares.
  */
class SandboxClosingSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  import ScriptedShim.{answering, listens, Late}

  private lazy val kit = ActorTestKit()
  private val threads = Executors.newCachedThreadPool()
  private given ExecutionContext = ExecutionContext.fromExecutor(threads)
  override def afterAll(): Unit =
    kit.shutdownTestKit()
    threads.shutdownNow()

  /** An invoker whose sandboxes are scripts, in each of which the same fake runtime listens. */
  private final class Fixture(closed: Option[String], shared: Boolean):
    val setup: PackSetup = PackSetup(kit)
    private val answers = Vector("open" -> "opened") ++ closed.map("close" -> _)
    val shim: ScriptedShim = ScriptedShim(answering(listens(setup.runtime.address.port), answers*))
    private val driver = shim.driver(
      settings =
        SandboxPrerequisites.settings.copy(answerTimeout = if closed.isEmpty then 200.millis else 1.hour),
      servers = backend => if backend.uri.isEmpty then Vector.empty else Vector(ServerAddress("fd00::1", 443))
    )
    private val controller: TestProbe[RegistryCommand[Invoker.Command]] = kit.createTestProbe()
    private val invoker: ActorRef[Invoker.Command] =
      kit.spawn(Invoker(setup.settings, setup.services.copy(driver = driver), () => 0.25, controller.ref))

    def begin(uri: Option[String]): TestProbe[PackReport] =
      val probe = kit.createTestProbe[PackReport]()
      val id = FlareId.random()
      val plain = setup.assignment.copy(
        flareId = id,
        attempt = 1,
        pack = PackId(0),
        packSizes = Vector(1),
        backend = BackendConfig("some", uri, None),
        autostart = true
      )
      val assignment =
        if !shared then plain
        else
          plain.copy(
            definition = plain.definition.copy(kind = "nodejs:20", concurrency = 3),
            shared = Some(SharedContainer(id, 1))
          )
      invoker ! InvokerRequest(PreparePack(assignment), probe.ref.unsafeUpcast)
      probe

    /** The program runs the flare to its successful end: returns how the pack came up. */
    def runs(probe: TestProbe[PackReport]): Option[PackStart] =
      val pack: FakePack = setup.runtime.pack()
      pack.send(
        PackEvent.Ready(None, Timestamp.ofMicros(1)),
        PackEvent.PackEnded(reusable = true, None, Timestamp.ofMicros(2))
      )
      pack.end()
      endOf(probe, None)

    private def endOf(probe: TestProbe[PackReport], start: Option[PackStart]): Option[PackStart] =
      val report = probe.receiveMessage(60.seconds)
      val known = start.orElse(report.start)
      report.events.lastOption match
        case Some(PackEvent.PackEnded(reusable, error, _, _)) =>
          assertEquals((reusable, error), (true, None))
          known
        case _ => endOf(probe, known)

    /** Runs a flare that reaches a server, after which its pack is kept. */
    def runKept(): Unit =
      val first = begin(Some("some://server"))
      setup.givePackage()
      assertEquals(runs(first), Some(PackStart.Cold))

    def close(): Unit =
      Await.result(driver.close(), 1.minute)
      setup.runtime.close()

  for (what, shared) <- Vector("flare" -> false, "call of an action" -> true) do
    def fixture(closed: Option[String]) = FunFixture[Fixture](_ => Fixture(closed, shared), _.close())

    fixture(None).test(s"a $what runs in another container if its pack's closing is never confirmed"):
      fixture =>
        import fixture.*
        runKept()
        val next = begin(None)
        setup.expectRelease()
        setup.givePackage()
        assertEquals(runs(next), Some(PackStart.Cold))
        // Each ran with its own program, and no further run was requested.
        assertEquals((shim.specs.size, setup.runtime.startedPrograms), (2, 2))

    fixture(Some(Late)).test(s"a $what runs in a pack whose closing is confirmed late"): fixture =>
      import fixture.*
      runKept()
      val next = begin(None)
      shim.answer("closed")
      assertEquals(runs(next), Some(PackStart.Warm))
      assertEquals((shim.specs.size, setup.runtime.startedPrograms), (1, 1))
