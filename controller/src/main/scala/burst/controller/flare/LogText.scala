package burst.controller.flare

import burst.protocol.{LogStream, PackId, Timestamp}
import java.nio.charset.StandardCharsets.UTF_8

/** The text that a worker (or the pack's process, if `worker` is none) wrote to a stream: lines separated by
  * line feeds, the first of which was written at `at`.
  */
final case class LogText(worker: Option[Int], pack: PackId, stream: LogStream, at: Timestamp, text: String):
  def lines: Iterator[String] = text.split("\n", -1).iterator

  def count: Int = 1 + text.count(_ == '\n')

  /** Its cost in bytes for limits. Even an empty line takes space and time. */
  lazy val cost: Long = lines.map(LogText.cost).sum

  /** Its first lines, as many as cost no more than `room`; none if not even the first fits. */
  def within(room: Long): Option[LogText] =
    if cost <= room then Some(this)
    else
      val ends = lines.map(LogText.cost).scanLeft(0L)(_ + _).drop(1)
      val fitting = ends.takeWhile(_ <= room).size
      Option.when(fitting > 0)(copy(text = lines.take(fitting).mkString("\n")))

object LogText:
  /** Bytes charged for each line besides its length. */
  val LineCost = 64

  def cost(line: String): Long = line.getBytes(UTF_8).length.toLong + LineCost
