package burst.simulator

import java.nio.file.Path
import java.util.concurrent.locks.LockSupport
import scala.concurrent.duration.DurationInt

/** The cost of real sessions of a number of invokers for a real controller: the program `burst controller` in
  * another process. Measures the time to register, and the beats of half a minute.
  */
final class Sessions(results: Results, burst: Path):
  private val counts = Vector(100, 300, 1000)
  private val slots = 48
  private val measured = 30.seconds

  def measure(): Unit =
    counts.foldLeft(Vector.empty[Seq[(String, Any)]]): (rows, count) =>
      val more = rows :+ results.temporarily("burst-sessions")(row(_, count))
      results.table("sessions", more)
      more
    : Unit

  private def row(directory: Path, count: Int): Seq[(String, Any)] =
    val controller = ControllerProcess.start(burst, directory.resolve("controller"))
    try
      val invokers =
        LightInvokers(
          controller.seed,
          directory.resolve("controller/cluster.pem"),
          directory.resolve("invokers")
        )
      try
        val (empty, before) = (controller.heap(), controller.processor())
        val (registration, _) = Cost.of(invokers.join(count, slots))
        val joined = controller.processor()
        // the duration of the measurement
        LockSupport.parkNanos(measured.toNanos)
        val used = (controller.processor() - joined) / measured.toSeconds
        Seq(
          "invokers" -> count,
          "load of the machine" -> f"${Cost.load()}%.1f",
          "until all have a session s" -> registration.seconds,
          "of that, the controller's processor s" -> (joined - before),
          "controller's processors %" -> 100 * used,
          "per beat, controller's processor µs" -> used / count * 1e6 * LightInvokers.Interval.toSeconds,
          "heap with none MiB" -> (empty / 1024.0) / 1024,
          "heap per session KiB" -> (controller.heap() - empty) / 1024.0 / count,
          "sessions begun anew" -> invokers.rejoined()
        )
      finally invokers.stop()
    finally controller.stop()
