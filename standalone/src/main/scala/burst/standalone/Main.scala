package burst.standalone

import burst.node.{Node, Role}

/** `burst standalone` becomes this process. */
object Main:
  def main(arguments: Array[String]): Unit = Node.run(Role.Standalone)(Platform.start)
