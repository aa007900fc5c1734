package burst.simulator

import burst.controller.flare.FlareState
import burst.controller.placement.Packing
import burst.node.MonotonicTime
import burst.protocol.*
import java.nio.file.Path
import org.apache.pekko.actor.typed.Behavior
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import scala.concurrent.Await
import scala.concurrent.duration.{DurationInt, MILLISECONDS}

/** The cost of the controller itself: flares are submitted to the real scheduler on the real store; the
  * invokers are actors that immediately report that every worker has succeeded. Wall-clock time, as in `make
  * bench`: run it on a quiet machine.
  */
final class Overhead(results: Results):
  private val sizes = Vector(1, 48, 480, 960, 4800, 9600)

  def measure(): Unit =
    val rows = results.temporarily("burst-overhead")(on)
    results.table(
      "overhead",
      rows.map: (size, packs, median) =>
        Seq(
          "workers" -> size,
          "packs" -> packs,
          "median ms" -> median,
          "µs per worker" -> median * 1000 / size
        )
    )
    results.plot(
      "overhead",
      "Submit to result of a flare that takes no time, packs of 48",
      "workers",
      "ms",
      Vector(Line("measured", rows.map((size, _, median) => (size.toDouble, median)))),
      log = true
    )

  private def on(directory: Path): Vector[(Int, Int, Double)] =
    val (config, storage) =
      SimulatedController.store(directory, s"burst.limits.concurrent-slots = ${sizes.max}")
    val controller = SimulatedController.start(config, storage)
    try
      controller.invokers(sizes.max / 48, slots = 48)(prompt)
      sizes.map { size =>
        def run(): Double =
          val request = Workload.request(size, Packing.Mixed, None, "overhead", timeout = 60.seconds)
          val begin = MonotonicTime.now()
          val flare = controller.submit(request) match
            case Right(flare) => flare
            case Left(refusal) => throw IllegalStateException(s"refused: $refusal")
          val end = Await.result(controller.service.await(flare.id, 60.seconds), 60.seconds).map(_.flare)
          require(end.exists(_.state == FlareState.Succeeded), s"it ended as ${end.map(_.state)}")
          (MonotonicTime.now() - begin).toUnit(MILLISECONDS)
        val times = Vector.fill(30)(run()).drop(10)
        (size, (size + 47) / 48, Statistics.median(times))
      }
    finally controller.close()

  /** An invoker whose workers are done as soon as they are allowed to start. */
  private def prompt(id: InvokerId): Behavior[InvokerRequest] =
    def running(packs: Map[(FlareId, PackId), () => Unit]): Behavior[InvokerRequest] =
      Behaviors.receiveMessage {
        case InvokerRequest(PreparePack(a), replyTo) =>
          def report(events: PackEvent*): Unit =
            replyTo ! PackReport(a.flareId, a.attempt, a.pack, id, Some(PackStart.Warm), events.toVector)
          def finish(): Unit =
            val workers = a.workers.flatMap { worker =>
              Vector(
                PackEvent.WorkerStarted(worker, Timestamp.ofMicros(1)),
                PackEvent.WorkerSucceeded(worker, "null", Timestamp.ofMicros(2))
              )
            }
            report((workers :+ PackEvent.PackEnded(reusable = true, None, Timestamp.ofMicros(3)))*)
          report(PackEvent.Ready(None, Timestamp.ofMicros(1)))
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
