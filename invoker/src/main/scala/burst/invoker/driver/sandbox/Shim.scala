package burst.invoker.driver
package sandbox

import burst.node.ServerAddress
import burst.protocol.Durations
import io.circe.syntax.*
import io.circe.{Codec, Encoder, Json}
import java.nio.file.Path
import scala.concurrent.duration.FiniteDuration
import scala.jdk.OptionConverters.*

/** What `burst-runtime sandbox` is told by its standard input, and what it answers: a line each. */
private[driver] object Shim:
  val Command: String = "sandbox"

  /** Where a sandbox's runtime finds its package. */
  val PackagePath = "/package"

  /** The first line. `user` is whom the pack runs as, where that is not the invoker's own; `group` names its
    * control group, where there are such; `sockets` is where packs of a machine find each other; with
    * `interpreters` the machine's are seen, where it has no `root`; `mounts` are the operator's.
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

  /** What it may be told after that, and the answer that it gives. */
  final case class Order[A](line: String, answer: PartialFunction[String, A])

  /** To hold the sandbox to other limits. */
  def limits(limits: Limits): Order[Change] = Order(
    Json.obj("limits" -> limits.asJson).noSpaces,
    {
      case "limits made" => Change.Made
      case said if said.startsWith("limits refused") => Change.Refused
      case said if said.startsWith("limits failed") => Change.Failed
    }
  )

  /** To let it through to these servers, and no others, or to say why not. */
  def open(servers: Vector[ServerAddress]): Order[Either[ShimProblem, Unit]] =
    val targets = servers.map(server => s"${server.host}:${server.port}")
    Order(Json.obj("open" -> targets.asJson).noSpaces, outcome("opened", "open failed: "))

  /** To let it through to the internet as well, which is what is not in these ranges. */
  def internet(closed: Vector[String]): Order[Either[ShimProblem, Unit]] = Order(
    Json.obj("internet" -> Json.obj("closed" -> closed.asJson)).noSpaces,
    outcome("opened", "open failed: ")
  )

  /** To take in so many packs of other invokers for it, at a port of this host's: that endpoint, or why there
    * is none.
    */
  def listen(host: String, packs: Int): Order[Either[ShimProblem, String]] = Order(
    Json.obj("listen" -> Json.obj("host" -> host.asJson, "packs" -> packs.asJson)).noSpaces,
    answer("listening for packs ", "listen failed: ")
  )

  /** To let it go to these packs of other invokers: the Unix socket on which it does, or why it cannot. */
  def peers(endpoints: Vector[String]): Order[Either[ShimProblem, String]] =
    Order(Json.obj("peers" -> endpoints.asJson).noSpaces, answer("peers at ", "peers failed: "))

  /** Where a program finds the one of that index among them. */
  def relayed(socket: String, peer: Int): String = s"relay:$socket:$peer"

  /** To let it through to none, once it has been to some, and nobody in. */
  val Close: Order[Either[ShimProblem, Unit]] =
    Order(Json.obj("close" -> true.asJson).noSpaces, outcome("closed", "close failed: "))

  private def outcome(done: String, failed: String): PartialFunction[String, Either[ShimProblem, Unit]] =
    case `done` => Right(())
    case said if said.startsWith(failed) => Left(ShimProblem.Refused(said.stripPrefix(failed)))

  /** What it says when its walls stand, by the handles of those processes that are still there. */
  val Processes: PartialFunction[String, Vector[ProcessHandle]] =
    case s"processes $numbers" =>
      numbers.split(' ').toVector.flatMap(_.toLongOption).flatMap(ProcessHandle.of(_).toScala)

  private def answer(done: String, failed: String): PartialFunction[String, Either[ShimProblem, String]] =
    case said if said.startsWith(done) => Right(said.stripPrefix(done))
    case said if said.startsWith(failed) => Left(ShimProblem.Refused(said.stripPrefix(failed)))

  /** Its last words, when the kernel has killed in the sandbox for want of memory. */
  val OutOfMemory = "out of memory"
