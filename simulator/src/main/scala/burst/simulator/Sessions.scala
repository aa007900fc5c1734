package burst.simulator

import java.nio.file.{Files, Path}
import java.util.concurrent.locks.LockSupport
import scala.concurrent.duration.DurationInt

/** What real sessions of so many invokers cost a real controller: the program `burst controller` beside this
  * one. The time to register, and the beats of half a minute.
  */
final class Sessions(results: Results, burst: Path):
  private val counts = Vector(100, 300, 1000)
  private val slots = 48
  private val measured = 30.seconds

  def measure(): Unit = results.table(
    "sessions",
    Seq(
      "invokers",
      "load of the machine",
      "until all have a session s",
      "of that, the controller's processor s",
      "controller's processors %",
      "per beat, controller's processor µs",
      "heap with none MiB",
      "heap per session KiB",
      "sessions begun anew"
    ),
    counts.map(count => temporary(row(_, count)))
  )

  private def row(directory: Path, count: Int): Seq[Any] =
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
        // what is measured is how long this is
        LockSupport.parkNanos(measured.toNanos)
        val used = (controller.processor() - joined) / measured.toSeconds
        Seq(
          count,
          f"${Cost.load()}%.1f",
          registration.seconds,
          joined - before,
          100 * used,
          used / count * 1e6 * LightInvokers.Interval.toSeconds,
          (empty / 1024.0) / 1024,
          (controller.heap() - empty) / 1024.0 / count,
          invokers.rejoined()
        )
      finally invokers.stop()
    finally controller.stop()

  private def temporary[A](work: Path => A): A =
    val directory = Files.createTempDirectory("burst-sessions")
    try work(directory)
    finally
      scala.util.Using.resource(Files.walk(directory))(
        _.sorted(java.util.Comparator.reverseOrder()).forEach(Files.delete)
      )
