package burst.simulator

import burst.controller.limits.PlatformLimits
import burst.controller.definition.Packing
import burst.controller.flare.FlareState
import burst.controller.cluster.ActorScheduling
import burst.controller.store.{Storage, StoreSettings}
import burst.protocol.*
import com.typesafe.config.ConfigFactory
import java.nio.file.{Files, Path}
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.{ActorSystem, Behavior}
import scala.concurrent.Await
import scala.concurrent.duration.DurationInt

/** What the controller itself costs: flares are submitted to the real scheduler upon the real store; the
  * invokers are actors that report at once that every worker has succeeded. Wall-clock time, as `make bench`:
  * run it on a quiet machine.
  */
final class Overhead(results: Results):
  private val sizes = Vector(1, 48, 480, 960, 4800, 9600)

  def measure(): Unit =
    val directory = Files.createTempDirectory("burst-overhead")
    try
      val rows = on(directory)
      results.table(
        "overhead",
        Seq("workers", "packs", "median ms", "µs per worker"),
        rows.map((size, packs, median) => Seq(size, packs, median, median * 1000 / size))
      )
      results.plot(
        "overhead",
        "Submit to result of a flare that takes no time, packs of 48",
        "workers",
        "ms",
        Vector(Line("measured", rows.map((size, _, median) => (size.toDouble, median)))),
        log = true
      )
    finally
      scala.util.Using.resource(Files.walk(directory))(
        _.sorted(java.util.Comparator.reverseOrder()).forEach(Files.delete)
      )

  private def on(directory: Path): Vector[(Int, Int, Double)] =
    val config = ConfigFactory
      .parseString(s"""
        burst.store.directory = "$directory"
        burst.limits.concurrent-slots = ${sizes.max}
        # its invokers say nothing but what they are asked
        burst.invokers.heartbeat-timeout = 1h
        pekko.loglevel = WARNING
      """)
      .withFallback(ConfigFactory.load())
    val system = ActorSystem(Behaviors.empty[Nothing], "overhead", config)
    val storage = Storage.open(StoreSettings.from(config), PlatformLimits.from(config).namespace)
    try
      val scheduling = ActorScheduling.start(config)(storage)(using system)
      val machines = sizes.max / 48
      for i <- 0 until machines do
        val id = InvokerId(s"i$i")
        val status = InvokerStatus(id, 48, 0, "simulated", 0, RuntimeInfo("x86_64", "2.36"))
        scheduling.invokers ! RegisterInvoker(
          status,
          system.systemActorOf(prompt(id), s"i$i")
        )
      while Await.result(scheduling.service.invokers(), 10.seconds).count(_.up) < machines do
        Thread.onSpinWait()
      sizes.map { size =>
        def run(): Double =
          val request = Workload.request(size, Packing.Mixed, None, "overhead", timeout = 60_000)
          val begin = System.nanoTime()
          val flare = Await.result(scheduling.service.submit(request), 60.seconds) match
            case Right(flare) => flare
            case Left(refusal) => throw IllegalStateException(s"refused: $refusal")
          val end = Await.result(scheduling.service.await(flare.id, 60.seconds), 60.seconds)
          require(end.exists(_.state == FlareState.Succeeded), s"it ended as ${end.map(_.state)}")
          (System.nanoTime() - begin) / 1e6
        val times = Vector.fill(30)(run()).drop(10)
        (size, (size + 47) / 48, Statistics.median(times))
      }
    finally
      system.terminate()
      Await.result(system.whenTerminated, 20.seconds)
      storage.close()

  /** Its workers are done as soon as they may start. */
  private def prompt(id: InvokerId): Behavior[InvokerRequest] =
    def running(packs: Map[(FlareId, Int), () => Unit]): Behavior[InvokerRequest] = Behaviors.receiveMessage {
      case InvokerRequest(PreparePack(a), replyTo) =>
        def report(events: PackEvent*): Unit =
          replyTo ! PackReport(a.flareId, a.attempt, a.pack, id, Some(PackStart.Warm), events.toVector)
        def finish(): Unit =
          val workers = a.workers.flatMap { worker =>
            Vector(PackEvent.WorkerStarted(worker, 1), PackEvent.WorkerSucceeded(worker, "null", 2))
          }
          report((workers :+ PackEvent.PackEnded(reusable = true, None, 3))*)
        report(PackEvent.Ready(None, 1))
        if a.autostart then
          finish()
          Behaviors.same
        else running(packs.updated((a.flareId, a.pack), finish))
      case InvokerRequest(StartPack(flare, pack, _), _) =>
        packs.get((flare, pack)).foreach(_())
        running(packs.removed((flare, pack)))
      case _ => Behaviors.same
    }
    running(Map.empty)
