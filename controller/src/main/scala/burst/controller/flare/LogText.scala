package burst.controller.flare

import burst.protocol.{LogStream, Timestamp}
import java.nio.charset.StandardCharsets.UTF_8

/** What a worker (or the pack's process, when `worker` is none) wrote to a stream: lines with line feeds
  * between them, the first of which was written at `at`.
  */
final case class LogText(worker: Option[Int], pack: Int, stream: LogStream, at: Timestamp, text: String):
  def lines: Iterator[String] = text.split("\n", -1).iterator

  def count: Int = 1 + text.count(_ == '\n')

  /** What it counts against limits. A line without a single letter takes room and time as well. */
  lazy val cost: Long = lines.map(LogText.cost).sum

  /** Its first lines, as many as cost no more than `room`; none where not even the first fits. */
  def within(room: Long): Option[LogText] =
    if cost <= room then Some(this)
    else
      val ends = lines.map(LogText.cost).scanLeft(0L)(_ + _).drop(1)
      val fitting = ends.takeWhile(_ <= room).size
      Option.when(fitting > 0)(copy(text = lines.take(fitting).mkString("\n")))

object LogText:
  /** Bytes a line counts beside those it has. */
  val LineCost = 64

  def cost(line: String): Long = line.getBytes(UTF_8).length.toLong + LineCost
