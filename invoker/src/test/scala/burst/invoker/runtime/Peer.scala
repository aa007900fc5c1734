package burst.invoker.runtime

import java.io.{BufferedInputStream, IOException}
import java.net.{InetAddress, ServerSocket, Socket}
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.util.zip.CRC32C
import scala.concurrent.{Future, Promise}
import scala.util.Try

/** A runtime whose every byte the test chooses. */
private[runtime] final class Peer extends AutoCloseable:
  private val server = ServerSocket(0, 50, InetAddress.getLoopbackAddress)
  server.setSoTimeout(RuntimeConnectionsSuite.TestTimeout.toMillis.toInt)
  val port: Int = server.getLocalPort
  def accept(): Peer.Connection = Peer.Connection(server.accept())
  override def close(): Unit = server.close()

private[runtime] object Peer:
  /** Runs blocking work on a thread of its own. */
  def inBackground[A](work: => A): Future[A] =
    val done = Promise[A]()
    val worker: Runnable = () =>
      val _ = done.complete(Try(work))
    val thread = Thread(worker)
    thread.setDaemon(true)
    thread.start()
    done.future

  def sum(bytes: Array[Byte], length: Int): Long =
    val crc = CRC32C()
    crc.update(bytes, 0, length)
    crc.getValue

  final class Connection(socket: Socket):
    socket.setSoTimeout(RuntimeConnectionsSuite.TestTimeout.toMillis.toInt)
    private val in = BufferedInputStream(socket.getInputStream, 64 * 1024)

    def path(): String = head().linesIterator.next().split(' ')(1)

    def head(): String =
      val text = StringBuilder()
      while !text.endsWith("\r\n\r\n") do
        val byte = in.read()
        if byte < 0 then throw IOException(s"the end after '$text'")
        text.append(byte.toChar)
      text.toString

    private def length(head: String): Int =
      head.linesIterator.map(
        _.toLowerCase
      ).collectFirst { case s"content-length: $n" => n.toInt }.getOrElse(0)

    /** Reads a whole request: returns its path, and its body's length and checksum. */
    def request(): (String, Int, Long) =
      val requestHead = head()
      val bytes = in.readNBytes(length(requestHead))
      (requestHead.split(' ')(1), bytes.length, sum(bytes, bytes.length))

    def write(text: String): Unit = socket.getOutputStream.write(text.getBytes(ISO_8859_1))

    def answer(body: String, headers: String*): Unit =
      write(
        s"HTTP/1.1 200 OK\r\n${headers.map(_ + "\r\n").mkString}Content-Length: ${body.length}\r\n\r\n$body"
      )

    /** Writes until the other side hangs up. */
    def writeOn(text: String): Unit =
      try while true do write(text)
      catch case _: IOException => ()

    /** Returns how many bytes still arrive until the other side closes the connection, by whatever means. */
    def untilClosed(): Long =
      val buffer = new Array[Byte](64 * 1024)
      def more(): Int =
        try in.read(buffer)
        catch
          case late: java.net.SocketTimeoutException => throw late
          case _: IOException => -1
      Iterator.continually(more()).takeWhile(_ >= 0).map(_.toLong).sum

    def endOutput(): Unit = socket.shutdownOutput()
    def close(): Unit = socket.close()
