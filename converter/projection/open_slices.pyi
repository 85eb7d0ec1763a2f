import numpy as np
from numpy.typing import NDArray

class OpenSlices:
    def match(
        self,
        step: NDArray[np.int32],
        thread: NDArray[np.int32],
        track: NDArray[np.int32],
        name: NDArray[np.int32],
        by_name: bool,
        in_turn: bool = False,
    ) -> NDArray[np.intp]:
        """Go on with events, of which those of step 1 begin and those of step 2 end a slice of a track and thread.

        An end that finds none of its name ends the innermost slice; where ends are `by_name`, none, and one that has no
        name is of any. Where they come `in_turn`, each ends the innermost, whatever its name.

        Returns:
            The places of ends that have another name than the slice that they end.

        """
    def close_innermost(
        self,
        steps: NDArray[np.int32],
        class_id: NDArray[np.int32],
        thread: NDArray[np.int32],
        track: NDArray[np.int32],
        order: NDArray[np.int64] | None,
    ) -> NDArray[np.int64]:
        """Go on with events whose ends have no name and end the innermost slice, but for begins of what stays open.

        Classes have steps; `order` is that of time, None where events are in it.

        Returns:
            The places of these begins, in order, with which `match` has to go on.

        """

class NestedSlices:
    def lines(
        self,
        step: NDArray[np.int32],
        thread: NDArray[np.int32],
        track: NDArray[np.int32],
        ts: NDArray[np.int64],
        end: NDArray[np.int64],
        order: NDArray[np.int64],
    ) -> tuple[NDArray[np.int32], int, int]:
        """Go on with events in an order of time. Those of step 1 begin and those of step 2 end a slice of a track and
        thread; those of step 3 are complete slices until an `end`, which those of step 4 need an event for.

        Returns:
            Which line beside its track each complete slice nests on, 0 for the track; how many are on one because they
            cross an end, and how many should be, but are of an earlier batch.

        """
