package burst.invoker.driver

import java.io.{BufferedReader, InputStream, InputStreamReader}
import java.nio.charset.StandardCharsets.UTF_8
import org.slf4j.LoggerFactory
import scala.collection.mutable
import scala.concurrent.{Future, Promise}
import scala.util.control.NonFatal

/** Reads a runtime's output for as long as it lives, so that it never blocks on a full pipe: hands out
  * awaited lines, and passes the rest to the log within bounds.
  */
private[driver] final class RuntimeOutput(name: String, output: InputStream):
  import RuntimeOutput.*

  private val log = LoggerFactory.getLogger(classOf[RuntimeOutput])
  private val awaited = mutable.ListBuffer.empty[Awaited[?]]
  private val tail = mutable.Queue.empty[String]
  private val over = Promise[Unit]()

  /** The host and port on which the runtime listens. */
  val address: Future[(String, Int)] = await { case Listening(host, port) => (host, port.toInt) }

  /** Returns the value of the next matching line that no earlier caller has waited for. Fails with
    * `EndOfOutput` if there is none.
    */
  def await[A](line: PartialFunction[String, A]): Future[A] = synchronized:
    val one = Awaited(line)
    if over.isCompleted then one.fail() else awaited += one
    one.found

  /** Completes when the output has ended. */
  def ended: Future[Unit] = over.future

  /** The last lines that nobody waited for: they can explain why a runtime did not come up. */
  def lastLines: Vector[String] = synchronized(tail.toVector)

  /** Blocks until the output ends: give it a thread of its own. */
  def drain(): Unit =
    val reader = BufferedReader(InputStreamReader(output, UTF_8), 4096)
    var logged = 0
    try
      Iterator.continually(readLine(reader)).takeWhile(_ != null).foreach: line =>
        if !handOut(line) then
          logged += 1
          if logged < MaxLines then log.debug("{}: {}", name, line)
          else if logged == MaxLines then log.warn("{}: further output is dropped", name)
    catch case NonFatal(_) => () // the pipe of a process that is being stopped breaks while it is read
    finally
      synchronized:
        over.success(())
        awaited.foreach(_.fail())

  private def handOut(line: String): Boolean = synchronized:
    awaited.find(_.takes(line)) match
      case Some(one) =>
        awaited -= one
        true
      case None =>
        tail.enqueue(line)
        if tail.size > TailLines then
          val _ = tail.dequeue()
        false

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

  private final class Awaited[A](line: PartialFunction[String, A]):
    private val promise = Promise[A]()
    def found: Future[A] = promise.future
    def takes(text: String): Boolean = line.lift(text).exists(promise.trySuccess)
    def fail(): Unit =
      val _ = promise.tryFailure(EndOfOutput)
