package burst.controller.scheduler

import burst.protocol.{Failure, FailureKind, InvokerId, Operation, PackStart}

/** What became of a pack's start on a machine. */
enum StartOutcome:
  /** Its program came up in a container made for it. */
  case Fresh(invoker: InvokerId)

  /** In one that was there, which says nothing of the machine as it is now. */
  case Warm(invoker: InvokerId)
  case NotUp(invoker: InvokerId, failure: Failure)

object StartOutcome:
  /** Of the packs that came up so far. */
  def ofStarted(progress: AttemptProgress): Vector[StartOutcome] =
    progress.packs.flatMap { pack =>
      pack.start.map {
        case PackStart.Warm => Warm(pack.invoker)
        case PackStart.Cold | PackStart.Prewarmed => Fresh(pack.invoker)
      }
    }.distinct

  /** Of packs that ended before their programs were up, and of those that came up beside them. */
  def ofFailed(news: Absorbed): Vector[StartOutcome] =
    val failed = news.ended.flatMap { pack =>
      val record = news.progress.packs(pack)
      news.progress.errors
        .get(pack)
        // of one that was not even asked for its machine knows nothing
        .filter(why => record.start.isEmpty && why.kind != FailureKind.ControllerRestarted)
        .map(NotUp(record.invoker, _))
    }
    if failed.isEmpty then failed else failed ++ ofStarted(news.progress)

  /** Of packs that are not up after all the time there was, and of those that are. */
  def ofLate(progress: AttemptProgress, limit: String): Vector[StartOutcome] =
    val late = progress.packs.filter(pack => progress.stages(pack.pack) == PackStage.Preparing).map { pack =>
      val message = s"a pack was not ready within $limit"
      val failure = Failure(FailureKind.StartFailed, message, operation = Some(Operation.Init))
      NotUp(pack.invoker, failure)
    }
    late.distinct ++ ofStarted(progress)
