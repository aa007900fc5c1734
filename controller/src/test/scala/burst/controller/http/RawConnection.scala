package burst.controller.http

import java.io.{BufferedInputStream, EOFException}
import java.net.{Socket, SocketException, SocketTimeoutException}
import java.nio.charset.StandardCharsets.ISO_8859_1
import scala.concurrent.duration.FiniteDuration

/** A connection that can send what no HTTP client would. */
final class RawConnection(port: Int) extends AutoCloseable:
  private val Patience = 60000
  private val socket = Socket("127.0.0.1", port)
  socket.setSoTimeout(Patience)
  private val in = BufferedInputStream(socket.getInputStream)

  def send(text: String): RawConnection =
    socket.getOutputStream.write(text.getBytes(ISO_8859_1))
    socket.getOutputStream.flush()
    this

  def endOutput(): RawConnection =
    socket.shutdownOutput()
    this

  /** Waits for `100 Continue`. */
  def interim(): Unit = if !isContinued() then throw EOFException("another answer than an interim one")

  /** Whether the next response is an interim one, which asks for the body. */
  def isContinued(): Boolean =
    Iterator.continually(line()).takeWhile(_.nonEmpty).toVector.headOption.exists(_.contains(" 100 "))

  /** Reads the next response that is not an interim one. */
  def reply(): Reply =
    val head = this.head()
    val body = in.readNBytes(head.headers.getOrElse("content-length", "0").toInt)
    head.copy(body = String(body, ISO_8859_1))

  /** Reads the status and headers of the next response that is not an interim one. */
  def head(): Reply =
    val status = line().split(" ")(1).toInt
    val headers =
      Iterator.continually(line()).takeWhile(_.nonEmpty).map(_.split(": ", 2)).map(h =>
        h(0).toLowerCase -> h(1)
      ).toMap
    if status == 100 then head() else Reply(status, "", headers)

  /** Whether anything arrives within that time, including the end of the connection. */
  def hears(within: FiniteDuration): Boolean =
    socket.setSoTimeout(within.toMillis.toInt)
    in.mark(1)
    try
      in.read()
      in.reset()
      true
    catch
      case _: SocketTimeoutException => false
      case _: SocketException => true
    finally socket.setSoTimeout(Patience)

  /** Skips a body in chunks, none of which contains a line feed. */
  def chunks(): Unit =
    Iterator.continually(line()).takeWhile(_ != "0").foreach(_ => ())
    val _ = line()

  /** Reads everything that arrives until the other end closes the connection. */
  def rest(): String = String(in.readAllBytes(), ISO_8859_1)

  private def line(): String =
    val out = StringBuilder()
    var byte = in.read()
    while byte != '\n' do
      if byte < 0 then throw EOFException(s"connection closed after '$out'")
      if byte != '\r' then out.append(byte.toChar)
      byte = in.read()
    out.toString

  override def close(): Unit = socket.close()

  /** Resets the connection instead of closing it properly. */
  def reset(): Unit =
    socket.setSoLinger(true, 0)
    close()
