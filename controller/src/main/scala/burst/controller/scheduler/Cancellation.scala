package burst.controller.scheduler

/** Who cancelled a flare. */
enum CancelledBy:
  case User, Administrator, Revocation

  /** It could not be stored, or not in time; its submitter was told, and then it was there nevertheless. */
  case StoreFailure

enum CancelOutcome extends GangScheduler.Answer:
  case Accepted, AlreadyEnded, NotFound
