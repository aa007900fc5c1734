package burst.invoker.driver
package docker

import io.circe.Json
import io.circe.parser.parse
import io.circe.syntax.*
import java.io.IOException
import java.net.{StandardProtocolFamily, UnixDomainSocketAddress}
import java.nio.ByteBuffer
import java.nio.channels.{SelectionKey, Selector, SocketChannel}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Path
import scala.annotation.tailrec
import scala.concurrent.duration.{Deadline, FiniteDuration}

/** The connection to a firewall's process (`burst-runtime firewall`), which decides what each container
  * reaches. One request at a time; blocks, for `timeout` at most, and throws an `IOException` if a request
  * fails.
  */
private[driver] final class Firewall private (channel: SocketChannel, timeout: FiniteDuration):
  private val selector = Selector.open()
  channel.configureBlocking(false)
  private val key = channel.register(selector, 0)

  def admit(address: String, grant: Firewall.Grant): Unit = ask("admit", grant.json(address))
  def exclude(address: String): Unit = ask("exclude", Json.obj("address" -> address.asJson))

  /** Removes the rules. */
  def end(): Unit = ask("end", Json.obj())

  def close(): Unit =
    selector.close()
    channel.close()

  private def ask(request: String, body: Json): Unit =
    val deadline = timeout.fromNow
    val line = ByteBuffer.wrap((Json.obj(request -> body).noSpaces + "\n").getBytes(UTF_8))
    while line.hasRemaining do
      await(SelectionKey.OP_WRITE, deadline)
      channel.write(line)
    val answer = parse(read(deadline, StringBuilder())).getOrElse(Json.Null)
    answer.hcursor.get[Option[String]]("error") match
      case Right(None) => ()
      case Right(Some(error)) => throw IOException(error)
      case Left(_) => throw IOException("the packs' firewall answers something else")

  @tailrec private def read(deadline: Deadline, text: StringBuilder): String =
    await(SelectionKey.OP_READ, deadline)
    val bytes = ByteBuffer.allocate(4096)
    if channel.read(bytes) < 0 then throw IOException("the packs' firewall has ended")
    text.append(UTF_8.decode(bytes.flip()))
    if text.endsWith("\n") then text.toString else read(deadline, text)

  private def await(operation: Int, deadline: Deadline): Unit =
    key.interestOps(operation)
    selector.select(deadline.timeLeft.toMillis.max(1))
    if selector.selectedKeys.isEmpty && deadline.isOverdue() then
      throw IOException("the packs' firewall does not answer")
    selector.selectedKeys.clear()

private[driver] object Firewall:
  /** `reach` are the addresses and ports of servers, allowed regardless of `egress`. */
  final case class Grant(flare: String, egress: Boolean, reach: Vector[Destination]):
    private[Firewall] def json(address: String): Json = Json.obj(
      "address" -> address.asJson,
      "flare" -> flare.asJson,
      "egress" -> egress.asJson,
      "reach" -> reach.map(_.json).asJson
    )

  final case class Destination(protocol: String, address: String, port: Int):
    private[Firewall] def json: Json =
      Json.obj("protocol" -> protocol.asJson, "address" -> address.asJson, "port" -> port.asJson)

  def connect(socket: Path, timeout: FiniteDuration): Firewall =
    val channel = SocketChannel.open(StandardProtocolFamily.UNIX)
    try
      channel.connect(UnixDomainSocketAddress.of(socket))
      Firewall(channel, timeout)
    catch
      case problem: IOException =>
        channel.close()
        throw problem
