package burst.controller.store

import burst.protocol.{InvokerId, Timestamp}
import scalikejdbc.*

/** Drained machines in any SQL database. */
final class JdbcDrainedInvokers(database: Database) extends DrainedInvokers:
  def all(): Set[InvokerId] =
    database.read("listing drained invokers"):
      sql"SELECT id FROM drained_invoker".rows(row => InvokerId(row.string("id"))).toSet

  def add(id: InvokerId): Unit = database.write("draining an invoker", Durability.Power):
    val _ =
      sql"""INSERT INTO drained_invoker (id, since) VALUES (${id.value}, ${Timestamp.now()})
                  ON CONFLICT (id) DO NOTHING""".update()

  def remove(id: InvokerId): Boolean = database.write("resuming an invoker", Durability.Power):
    sql"DELETE FROM drained_invoker WHERE id = ${id.value}".update() > 0
