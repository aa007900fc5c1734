package burst.invoker.driver
package sandbox

import burst.node.ServerAddress
import burst.protocol.Durations
import io.circe.syntax.*
import io.circe.{Codec, Encoder, Json}
import java.nio.file.Path
import scala.concurrent.duration.FiniteDuration
import scala.jdk.OptionConverters.*

/** The commands that `burst-runtime sandbox` reads from its standard input, and its answers: one line each.
  */
private[driver] object Shim:
  val Command: String = "sandbox"

  /** Where a sandbox's runtime finds its package. */
  val PackagePath = "/package"

  /** The first line. `user` is the one that the pack runs as, if it is not the invoker's own; `group` names
    * its control group, if it has one; `sockets` is where packs of a machine find each other; with
    * `interpreters` it sees the machine's, if there is no `root`; `mounts` are the operator's.
    */
  final case class Spec(
      `package`: Path,
      sockets: Option[Path],
      root: Option[String],
      interpreters: Boolean,
      mounts: Vector[Mount],
      user: Option[Long],
      group: Option[String],
      tmpMiB: Int,
      shmMiB: Int,
      graceMs: FiniteDuration,
      limits: Limits
  ) derives Encoder.AsObject

  final case class Limits(memoryMiB: Long, cpus: Double, processes: Long, files: Long) derives Codec.AsObject

  private given Encoder[FiniteDuration] = Durations.inMillis
  private given Encoder[Path] = Encoder[String].contramap(_.toString)

  object Limits:
    def apply(allowed: ContainerLimits, descriptors: Long): Limits =
      Limits(
        memoryMiB = allowed.memory >> 20,
        cpus = allowed.nanoCpus / 1e9,
        processes = allowed.pids,
        files = descriptors
      )

  def line(spec: Spec): String = spec.asJson.noSpaces

  /** A later command, and the parser of its answer. */
  final case class Order[A](line: String, answer: PartialFunction[String, A])

  /** Changes the sandbox's limits. */
  def limits(limits: Limits): Order[Change] = Order(
    Json.obj("limits" -> limits.asJson).noSpaces,
    {
      case "limits made" => Change.Made
      case text if text.startsWith("limits refused") => Change.Refused
      case text if text.startsWith("limits failed") => Change.Failed
    }
  )

  /** Lets it through to these servers, and no others; the answer may be why not. */
  def open(servers: Vector[ServerAddress]): Order[Either[ShimProblem, Unit]] =
    val targets = servers.map(server => s"${server.host}:${server.port}")
    Order(Json.obj("open" -> targets.asJson).noSpaces, outcome("opened", "open failed: "))

  /** Lets it through to the internet as well, which is everything outside of these ranges. */
  def internet(closed: Vector[String]): Order[Either[ShimProblem, Unit]] = Order(
    Json.obj("internet" -> Json.obj("closed" -> closed.asJson)).noSpaces,
    outcome("opened", "open failed: ")
  )

  /** Accepts this many packs of other invokers for it, at a port of this host; the answer is that endpoint,
    * or why there is none.
    */
  def listen(host: String, packs: Int): Order[Either[ShimProblem, String]] = Order(
    Json.obj("listen" -> Json.obj("host" -> host.asJson, "packs" -> packs.asJson)).noSpaces,
    answer("listening for packs ", "listen failed: ")
  )

  /** Lets it through to these packs of other invokers; the answer is the Unix socket for that, or why not. */
  def peers(endpoints: Vector[String]): Order[Either[ShimProblem, String]] =
    Order(Json.obj("peers" -> endpoints.asJson).noSpaces, answer("peers at ", "peers failed: "))

  /** Where a program finds the peer with that index. */
  def relayed(socket: String, peer: Int): String = s"relay:$socket:$peer"

  /** Lets it through to nothing any more, once it could reach something, and nobody in. */
  val Close: Order[Either[ShimProblem, Unit]] =
    Order(Json.obj("close" -> true.asJson).noSpaces, outcome("closed", "close failed: "))

  private def outcome(done: String, failed: String): PartialFunction[String, Either[ShimProblem, Unit]] =
    case `done` => Right(())
    case text if text.startsWith(failed) => Left(ShimProblem.Refused(text.stripPrefix(failed)))

  /** The line printed when the sandbox is set up, with the handles of those of its processes that still
    * exist.
    */
  val Processes: PartialFunction[String, Vector[ProcessHandle]] =
    case s"processes $numbers" =>
      numbers.split(' ').toVector.flatMap(_.toLongOption).flatMap(ProcessHandle.of(_).toScala)

  private def answer(done: String, failed: String): PartialFunction[String, Either[ShimProblem, String]] =
    case text if text.startsWith(done) => Right(text.stripPrefix(done))
    case text if text.startsWith(failed) => Left(ShimProblem.Refused(text.stripPrefix(failed)))

  /** Its last line if the kernel has killed a process in the sandbox because memory was exhausted. */
  val OutOfMemory = "out of memory"
