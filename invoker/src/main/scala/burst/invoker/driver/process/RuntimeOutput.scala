package burst.invoker.driver
package process

import java.io.{BufferedReader, InputStream, InputStreamReader}
import java.nio.charset.StandardCharsets.UTF_8
import org.slf4j.LoggerFactory
import scala.collection.mutable
import scala.concurrent.{Future, Promise}
import scala.util.control.NonFatal

/** Reads what a runtime prints for as long as it lives, so that it never blocks on a full pipe: finds the
  * line that says where it listens, and passes the rest to the log within bounds.
  */
private[driver] final class RuntimeOutput(name: String, output: InputStream):
  import RuntimeOutput.*

  private val log = LoggerFactory.getLogger(classOf[RuntimeOutput])
  private val listening = Promise[(String, Int)]()
  private val tail = mutable.Queue.empty[String]

  /** Host and port. Fails with `EndOfOutput` when the runtime's output ended before it said where it listens.
    */
  def address: Future[(String, Int)] = listening.future

  /** The last lines, to explain a runtime that did not come up. */
  def lastLines: Vector[String] = synchronized(tail.toVector)

  /** Blocks until the output ends: give it a thread of its own. */
  def drain(): Unit =
    val reader = BufferedReader(InputStreamReader(output, UTF_8), 4096)
    var logged = 0
    try
      Iterator.continually(readLine(reader)).takeWhile(_ != null).foreach: line =>
        line match
          case Listening(host, port) if !listening.isCompleted =>
            listening.success((host, port.toInt))
          case _ =>
            remember(line)
            logged += 1
            if logged < MaxLines then log.debug("{}: {}", name, line)
            else if logged == MaxLines then log.warn("{}: further output is dropped", name)
    catch case NonFatal(_) => () // the pipe of a process that is being stopped breaks while it is read
    finally
      val _ = listening.tryFailure(EndOfOutput)

  private def remember(line: String): Unit = synchronized:
    tail.enqueue(line)
    if tail.size > TailLines then
      val _ = tail.dequeue()

  /** Like `BufferedReader.readLine`, but never holds more of a line than `MaxLineLength`. */
  private def readLine(reader: BufferedReader): String =
    val line = StringBuilder()
    var char = reader.read()
    if char == -1 then null
    else
      while char != -1 && char != '\n' do
        if line.length < MaxLineLength && char != '\r' then line.append(char.toChar)
        char = reader.read()
      line.toString

private[driver] object RuntimeOutput:
  private val Listening = """listening on (.+):(\d{1,5})""".r
  private val MaxLines = 1000
  private val MaxLineLength = 4096
  private val TailLines = 5

  object EndOfOutput extends RuntimeException("the runtime's output ended", null, false, false)
