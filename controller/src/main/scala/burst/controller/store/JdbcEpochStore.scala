package burst.controller.store

import scalikejdbc.*

/** Epochs in any SQL database: one row that only ever counts up. */
final class JdbcEpochStore(database: Database) extends EpochStore:
  def next(): Long =
    // Invokers know the last epoch, and do not lose it if this machine loses power.
    database.write("counting the scheduler's epoch", Durability.Power):
      sql"""INSERT INTO scheduler_epoch (id, epoch) VALUES (1, 1)
            ON CONFLICT (id) DO UPDATE SET epoch = scheduler_epoch.epoch + 1""".update()
      sql"SELECT epoch FROM scheduler_epoch".row(_.long("epoch")).getOrElse(1L)

  def present(): Long =
    database.read("reading the scheduler's epoch"):
      sql"SELECT epoch FROM scheduler_epoch".row(_.long("epoch")).getOrElse(0L)
