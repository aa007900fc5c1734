package burst.controller.scheduler

/** Who cancelled a flare. */
enum CancelledBy:
  case User, Administrator, Revocation

  /** It could not be stored, or not in time; its submitter was notified, and then it turned out to be stored
    * after all.
    */
  case StoreFailure
