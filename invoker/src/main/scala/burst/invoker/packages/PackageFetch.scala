package burst.invoker.packages

import burst.node.FullDisk
import burst.protocol.{FetchPackage, PackageChunk, PackageId, PackageMissing, PackageReply, PackageRequest}
import java.nio.file.StandardOpenOption.{CREATE_NEW, WRITE}
import java.nio.file.{Files, Path, StandardCopyOption}
import java.security.{DigestOutputStream, MessageDigest}
import java.util.HexFormat
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, Behaviors, TimerScheduler}
import org.apache.pekko.actor.typed.{ActorRef, Behavior, PostStop}
import scala.concurrent.duration.FiniteDuration
import scala.util.Try
import scala.util.control.NonFatal

/** How a fetch ended: the bytes the package takes here, or why it failed. */
private[packages] final case class Fetched(packageId: PackageId, outcome: Either[PackageProblem, Long])

private[packages] final case class FetchSettings(
    maxBytes: Long,
    form: PackageForm,
    unpack: UnpackLimits,
    answerTimeout: FiniteDuration,
    attempts: Int
)

/** Fetches one package, unpacks it if requested, then stops: chunk by chunk into a file, hashed as it
  * arrives; content with another hash than the requested one is never used. The directory `target` appears
  * with the whole package in it, or not at all: the directory around the package is renamed, since only root
  * can move a read-only one, as an unpacked package is. Blocks on the disk: runs on a dispatcher for that.
  */
private[packages] object PackageFetch:
  sealed trait Command
  private final case class Reply(reply: PackageReply) extends Command
  private case object NoAnswer extends Command

  def apply(
      packageId: PackageId,
      target: Path,
      scratch: Path,
      controller: ActorRef[PackageRequest],
      settings: FetchSettings,
      replyTo: ActorRef[Fetched]
  ): Behavior[Command] = Behaviors.setup: context =>
    Behaviors.withTimers: timers =>
      new PackageFetch(packageId, target, scratch, controller, settings, replyTo, context, timers).begin()

private final class PackageFetch(
    packageId: PackageId,
    target: Path,
    scratch: Path,
    controller: ActorRef[PackageRequest],
    settings: FetchSettings,
    replyTo: ActorRef[Fetched],
    context: ActorContext[PackageFetch.Command],
    timers: TimerScheduler[PackageFetch.Command]
):
  import PackageFetch.*

  private val archive = scratch.resolve(PackageForm.Archive.file)
  private val unpacked = scratch.resolve(PackageForm.Directory.file)
  private val digest = MessageDigest.getInstance("SHA-256")
  private val replies = context.messageAdapter[PackageReply](Reply(_))

  def begin(): Behavior[Command] =
    try
      Files.createDirectories(scratch)
      val sink = DigestOutputStream(
        Files.newOutputStream(archive, CREATE_NEW, WRITE),
        digest
      )
      // An empty package does not have to be fetched.
      if packageId == PackageId.Empty then
        sink.close()
        finish(conclude())
      else
        ask(0)
        receiving(sink, offset = 0, attempt = 1)
    catch case NonFatal(problem) => unwritable(problem)

  private def receiving(sink: DigestOutputStream, offset: Long, attempt: Int): Behavior[Command] =
    Behaviors
      .receiveMessage[Command]:
        case Reply(PackageChunk(id, at, bytes, total)) if id == packageId && at == offset =>
          val next = offset + bytes.length
          if total > settings.maxBytes then finish(Left(PackageProblem.TooLarge(total)))
          else if bytes.isEmpty && total > 0 || next > total then finish(Left(PackageProblem.Damaged))
          else
            try
              sink.write(bytes.toArrayUnsafe())
              if next < total then
                ask(next)
                receiving(sink, next, attempt = 1)
              else
                sink.close()
                finish(conclude())
            catch case NonFatal(problem) => unwritable(problem)
        case Reply(PackageMissing(_)) => finish(Left(PackageProblem.Missing))
        case Reply(_) => Behaviors.same // the answer to a request that was repeated
        case NoAnswer if attempt < settings.attempts =>
          ask(offset)
          receiving(sink, offset, attempt + 1)
        case NoAnswer => finish(Left(PackageProblem.NoAnswer))
      .receiveSignal:
        case (_, PostStop) =>
          Try(sink.close())
          Behaviors.same

  private def ask(offset: Long): Unit =
    controller ! PackageRequest(FetchPackage(packageId, offset), replies)
    timers.startSingleTimer(NoAnswer, settings.answerTimeout)

  private def conclude(): Either[PackageProblem, Long] =
    if HexFormat.of().formatHex(digest.digest()) != packageId.value then Left(PackageProblem.Damaged)
    else
      val made = settings.form match
        case PackageForm.Directory =>
          val bytes =
            if packageId == PackageId.Empty then Right(Unpacker.nothing(unpacked))
            else Unpacker.unpack(archive, unpacked, settings.unpack)
          Files.delete(archive)
          bytes
        case PackageForm.Archive => Right(Files.size(archive) + Unpacker.EntryBytes)
      made.foreach(_ => Files.move(scratch, target, StandardCopyOption.ATOMIC_MOVE))
      made

  private def unwritable(problem: Throwable): Behavior[Command] =
    context.log.error(s"package ${packageId.value} cannot be written to the disk", problem)
    val why = if FullDisk.isCauseOf(problem) then "the machine's disk is full" else problem.toString
    finish(Left(PackageProblem.Unwritable(why)))

  private def finish(outcome: Either[PackageProblem, Long]): Behavior[Command] =
    Try(Unpacker.delete(scratch))
    replyTo ! Fetched(packageId, outcome)
    Behaviors.stopped
