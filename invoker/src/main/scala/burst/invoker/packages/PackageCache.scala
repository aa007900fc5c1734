package burst.invoker.packages

import burst.invoker.metrics.PackageMetrics
import burst.node.metrics.MetricsRegistry
import burst.protocol.{Failure, FailureKind, Operation, PackageId, PackageRequest}
import java.nio.file.{Files, Path, StandardCopyOption}
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, Behaviors}
import org.apache.pekko.actor.typed.{ActorRef, Behavior, DispatcherSelector}
import org.slf4j.LoggerFactory
import scala.concurrent.duration.FiniteDuration
import scala.concurrent.{ExecutionContext, Future}
import scala.util.control.NonFatal

/** `maxBytes` is what packages can take on the disk while no pack uses them; `packageBytes` and `unpacked`
  * bound a single one.
  */
final case class PackageCacheSettings(
    directory: Path,
    maxBytes: Long,
    packageBytes: Long,
    unpacked: UnpackLimits,
    answerTimeout: FiniteDuration,
    attempts: Int
)

/** What is kept of a package: a directory with its files, or the file that was uploaded; `file` is its name
  * in the package's directory.
  */
enum PackageForm(private[packages] val file: String):
  case Directory extends PackageForm("unpacked")
  case Archive extends PackageForm("archive")

/** Packages by content, in the form in which they are needed, each fetched once however many packs request it
  * at the same time.
  *
  * An acquired package is held until it is released, and stays in its directory until then. When the cache
  * exceeds its bound, packages that nobody holds are removed, longest unused first. The cache starts empty: a
  * fetch is cheap, and after a crash of the machine nobody could tell which directories are complete.
  */
object PackageCache:
  sealed trait Command

  /** Answered with the package's path, which is then held, or with the reason why there is none. */
  final case class Acquire(packageId: PackageId, replyTo: ActorRef[Either[Failure, Path]]) extends Command
  final case class Release(packageId: PackageId) extends Command
  private final case class Done(fetched: Fetched) extends Command

  def apply(
      settings: PackageCacheSettings,
      form: PackageForm,
      controller: ActorRef[PackageRequest],
      metrics: PackageMetrics = PackageMetrics(MetricsRegistry())
  ): Behavior[Command] = Behaviors.setup: context =>
    Unpacker.delete(settings.directory)
    Files.createDirectories(settings.directory)
    new PackageCache(settings, form, controller, metrics, context).running(CacheIndex(), Map.empty, 0)

private final class PackageCache(
    settings: PackageCacheSettings,
    form: PackageForm,
    controller: ActorRef[PackageRequest],
    metrics: PackageMetrics,
    context: ActorContext[PackageCache.Command]
):
  import PackageCache.*

  private type Waiting = Map[PackageId, Vector[ActorRef[Either[Failure, Path]]]]

  private val log = LoggerFactory.getLogger(classOf[PackageCache])
  private val blocking: ExecutionContext = context.system.dispatchers.lookup(DispatcherSelector.blocking())
  private val fetched = context.messageAdapter[Fetched](Done(_))

  /** `serial` names scratch directories, so that no two ever have the same name. */
  def running(index: CacheIndex, waiting: Waiting, serial: Long): Behavior[Command] =
    Behaviors.receiveMessage:
      case Acquire(id, replyTo) if index.entries.contains(id) =>
        metrics.hit()
        replyTo ! Right(contents(id))
        running(index.acquire(id), waiting, serial)

      case Acquire(id, replyTo) =>
        val others = waiting.getOrElse(id, Vector.empty)
        if others.isEmpty then fetch(id, serial)
        running(index, waiting.updated(id, others :+ replyTo), serial + 1)

      case Release(id) => trimmed(index.release(id), waiting, serial)

      case Done(Fetched(id, outcome)) =>
        val requesters = waiting.getOrElse(id, Vector.empty)
        val answer = outcome.left.map(failure(id, _)).map(_ => contents(id))
        metrics.fetched(requesters.size, answer.isRight)
        requesters.foreach(_ ! answer)
        val added = outcome.fold(
          _ => index,
          bytes => requesters.foldLeft(index.add(id, bytes))((i, _) => i.acquire(id))
        )
        trimmed(added, waiting - id, serial)

  private def directory(id: PackageId): Path = settings.directory.resolve(id.value)
  private def contents(id: PackageId): Path = directory(id).resolve(form.file)

  private def fetch(id: PackageId, serial: Long): Unit =
    val scratch = settings.directory.resolve(s"new-$serial")
    val limits =
      FetchSettings(settings.packageBytes, form, settings.unpacked, settings.answerTimeout, settings.attempts)
    val behavior = PackageFetch(id, directory(id), scratch, controller, limits, fetched)
    val _ = context.spawn(behavior, s"fetch-$serial", DispatcherSelector.blocking())

  private def trimmed(index: CacheIndex, waiting: Waiting, serial: Long): Behavior[Command] =
    val (remaining, victims) = index.evict(settings.maxBytes)
    victims.zipWithIndex.foreach: (id, offset) =>
      // Moved away immediately, so that the same package can be fetched again; deleted in the background.
      val trash = settings.directory.resolve(s"old-${serial + offset}")
      try
        Files.move(directory(id), trash, StandardCopyOption.ATOMIC_MOVE)
        Future(Unpacker.delete(trash))(using blocking).failed.foreach(notDeleted(trash, _))(using blocking)
      catch case NonFatal(problem) => notDeleted(directory(id), problem)
    metrics.holds(remaining.entries.size, remaining.bytes)
    running(remaining, waiting, serial + victims.size)

  private def notDeleted(path: Path, problem: Throwable): Unit =
    log.error("{} stays on the disk, nobody needs it: it cannot be deleted ({})", path, problem.toString)

  private def failure(id: PackageId, problem: PackageProblem): Failure =
    Failure(
      FailureKind.StartFailed,
      s"package ${id.value.take(12)} cannot be used: ${problem.sentence}",
      operation = problem match
        case PackageProblem.Unwritable(_) => Some(Operation.Fetch)
        case _ => None
    )
