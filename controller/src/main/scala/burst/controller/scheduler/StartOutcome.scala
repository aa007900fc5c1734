package burst.controller.scheduler

import burst.protocol.{Failure, FailureKind, InvokerId, Operation, PackStart}

/** The outcome of a pack's start on a machine. */
enum StartOutcome:
  /** Its program started in a new container. */
  case Fresh(invoker: InvokerId)

  /** It started in an existing container, which says nothing about the machine's present state. */
  case Warm(invoker: InvokerId)
  case NotUp(invoker: InvokerId, failure: Failure)

object StartOutcome:
  /** The outcomes of the packs that have started so far. */
  def ofStarted(progress: AttemptProgress): Vector[StartOutcome] =
    progress.packs.flatMap { pack =>
      pack.start.map {
        case PackStart.Warm => Warm(pack.invoker)
        case PackStart.Cold | PackStart.Prewarmed => Fresh(pack.invoker)
      }
    }.distinct

  /** The outcomes of packs that ended before their programs were up, and of those that started beside them.
    */
  def ofFailed(news: Absorbed): Vector[StartOutcome] =
    val failed = news.ended.flatMap { pack =>
      val record = news.progress.packs(pack)
      news.progress.errors
        .get(pack)
        // a pack that was never requested says nothing about its machine
        .filter(why => record.start.isEmpty && why.kind != FailureKind.ControllerRestarted)
        .map(NotUp(record.invoker, _))
    }
    if failed.isEmpty then failed else failed ++ ofStarted(news.progress)

  /** The outcomes of packs that are not up when the time is over, and of those that are. */
  def ofLate(progress: AttemptProgress, limit: String): Vector[StartOutcome] =
    val late = progress.packs.filter(pack => progress.stages(pack.pack) == PackStage.Preparing).map { pack =>
      val message = s"a pack was not ready within $limit"
      val failure = Failure(FailureKind.StartFailed, message, operation = Some(Operation.Init))
      NotUp(pack.invoker, failure)
    }
    late.distinct ++ ofStarted(progress)
